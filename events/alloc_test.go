// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package events_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

func TestRepeat_CostsAnAllocationAtMost(t *testing.T) {
	rec, err := events.New(discard(), controller, events.Options{})
	require.NoError(t, err)
	off, err := events.New(discard(), controller, events.Options{Disabled: true})
	require.NoError(t, err)
	wrapped := fmt.Errorf("reconcile: %w", apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("x")))
	missing := fmt.Errorf("reconcile: %w", apierrors.NewNotFound(corev1.Resource("secrets"), "s"))
	args := []any{1, "two"}
	for name, do := range map[string]func(*corev1.ConfigMap){
		"Eventf":          func(o *corev1.ConfigMap) { rec.Eventf(o, nil, "Warning", "A", "B", "note %d %s", args...) },
		"Legacy":          func(o *corev1.ConfigMap) { rec.Legacy().Event(o, "Warning", "C", "note") },
		"Failure":         func(o *corev1.ConfigMap) { rec.Failure(o, errAway) },
		"FailureWrapped":  func(o *corev1.ConfigMap) { rec.Failure(o, wrapped) },
		"FailureTerminal": func(o *corev1.ConfigMap) { rec.Failure(o, missing) },
		"NothingOpen":     func(o *corev1.ConfigMap) { rec.Failure(o, nil) },
		"Disabled":        func(o *corev1.ConfigMap) { off.Failure(o, errAway) },
		"DisabledEventf":  func(o *corev1.ConfigMap) { off.Eventf(o, nil, "Warning", "A", "B", "note %d %s", args...) },
	} {
		o := object(name)
		do(o)
		require.NoError(t, rec.Flush(t.Context()))
		written := rec.Stats().Written
		assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { do(o) }), 1.0, name)
		assert.Equal(t, written, rec.Stats().Written, "those were repeats")
	}
}

// What is kept of the object, of its cap, of its series and of its note, the
// Event, its name, and the growth of the map.
func TestFirstOccurrence_CostsFewAllocations(t *testing.T) {
	const n = 4000
	all := objects(n)
	o := events.Options{TotalWritesPerSecond: 1e9}
	per := testing.AllocsPerRun(5, func() {
		rec, err := events.New(discard(), controller, o)
		require.NoError(t, err)
		for _, o := range all {
			rec.Failure(o, errAway)
		}
		require.NoError(t, rec.Flush(t.Context()))
		require.Equal(t, int64(n), rec.Stats().Written)
	}) / n
	assert.LessOrEqual(t, per, 24.0)
	t.Logf("%.2f allocations", per)
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func TestMemory_PerObject(t *testing.T) {
	const n = 8000
	all := objects(n)
	before := heap()
	rec, err := events.New(discard(), controller, events.Options{TotalWritesPerSecond: 1e9})
	require.NoError(t, err)
	for _, o := range all {
		rec.Failure(o, errAway)
	}
	require.NoError(t, rec.Flush(t.Context()))
	per := (heap() - before) / n
	kept, _, _ := events.Kept(rec)
	runtime.KeepAlive(all)
	assert.Equal(t, n, kept)
	assert.LessOrEqual(t, per, 1200.0, "bytes per object")
	t.Logf("%.0f bytes per object", per)
}

// TestMaxObjects_StatesTheBytesOfAnOutage: nothing is written, and each Event
// waits.
func TestMaxObjects_StatesTheBytesOfAnOutage(t *testing.T) {
	short := strings.Repeat("x", 100)
	long := strings.Repeat("x ", 2500)
	for name, tc := range map[string]struct {
		reason  string
		objects int
		series  int
		note    string
		values  int // annotations
		most    float64
	}{
		"OneNote":    {"The usual object has one failure.", 4000, 1, short, 0, 1.2},
		"EightNotes": {"A busy object has several reasons.", 2000, 8, short, 0, 5},
		"LongTexts":  {"More of a note and of annotations is not kept.", 500, 8, long, 8, 80},
	} {
		t.Run(name, func(t *testing.T) {
			all := objects(tc.objects)
			added := annotations(tc.values, long)
			before := heap()
			rec, err := events.New(discard(), controller, events.Options{})
			require.NoError(t, err)
			for i := range tc.series {
				for _, o := range all {
					rec.Legacy().AnnotatedEventf(o, added, "Warning", fmt.Sprint("Reason", i), "%s", tc.note)
				}
			}
			per := (heap() - before) / float64(tc.objects) / 1024
			runtime.KeepAlive(all)
			assert.LessOrEqual(t, per, tc.most, tc.reason)
			assert.Equal(t, int64(tc.objects*tc.series), rec.Stats().Pending)
			t.Logf("%.1f KiB an object", per)
		})
	}
}
