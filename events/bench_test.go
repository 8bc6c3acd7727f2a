// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
)

// discard returns a sink whose API server accepts each write immediately and
// keeps nothing.
func discard() *events.Sink {
	return events.NewSink(
		func(string) discarded[*eventsv1.Event] { return discarded[*eventsv1.Event]{} },
		func(string) discarded[*corev1.Event] { return discarded[*corev1.Event]{} },
	)
}

type discarded[E any] struct{}

func (discarded[E]) Create(_ context.Context, ev E, _ metav1.CreateOptions) (E, error) {
	return ev, nil
}

func (discarded[E]) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (ev E, _ error) {
	return ev, nil
}

func recorderFor(b *testing.B, objects int) *events.Recorder {
	b.Helper()
	rec, err := events.New(discard(), controller, events.Options{TotalWritesPerSecond: 1e9, MaxObjects: objects})
	if err != nil {
		b.Fatal(err)
	}
	return rec
}

// A repeat within the pause.
func BenchmarkRepeat(b *testing.B) {
	conflict := fmt.Errorf("reconcile: %w", apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("x")))
	missing := fmt.Errorf("reconcile: %w", apierrors.NewNotFound(corev1.Resource("secrets"), "s"))
	run := object("a")
	for name, do := range map[string]func(*events.Recorder, int){
		"Eventf": func(r *events.Recorder, _ int) {
			r.Eventf(run, nil, "Warning", "A", "B", "the model API answered 503: upstream connect error, reset before headers")
		},
		"EventfVarying":   func(r *events.Recorder, i int) { r.Eventf(run, nil, "Warning", "A", "B", "note %d", i) },
		"Failure":         func(r *events.Recorder, _ int) { r.Failure(run, errAway) },
		"FailureConflict": func(r *events.Recorder, _ int) { r.Failure(run, conflict) },
		"FailureTerminal": func(r *events.Recorder, _ int) { r.Failure(run, missing) },
		"NothingOpen":     func(r *events.Recorder, _ int) { r.Failure(run, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			rec := recorderFor(b, 0)
			do(rec, 0)
			_ = rec.Flush(b.Context())
			b.ReportAllocs()
			i := 1 << 20
			for b.Loop() {
				i++
				do(rec, i)
			}
		})
	}
}

// First occurrences of 20,000 objects, written included.
func BenchmarkFirstOccurrence(b *testing.B) {
	all := objects(20_000)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		rec := recorderFor(b, len(all))
		b.StartTimer()
		for _, o := range all {
			rec.Failure(o, errAway)
		}
		_ = rec.Flush(b.Context())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/event")
}

func BenchmarkRepeatParallel(b *testing.B) {
	rec := recorderFor(b, 0)
	all := objects(64)
	for _, o := range all {
		rec.Failure(o, errAway)
	}
	_ = rec.Flush(b.Context())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			rec.Failure(all[i%len(all)], errAway)
		}
	})
}
