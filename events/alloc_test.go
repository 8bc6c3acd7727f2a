// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package events_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
)

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestMaxObjects_StatesTheBytesOfAnOutage: nothing is written, and each Event
// waits.
func TestMaxObjects_StatesTheBytesOfAnOutage(t *testing.T) {
	_ = redact.Text("password=" + "x") // makes its rules, once for the process
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
