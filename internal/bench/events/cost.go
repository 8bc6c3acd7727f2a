// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/bench"
)

// usual is the limit of a usual call: twice the fastest peer, or 50 µs.
const usual = "<= 2x or 50000"

// unlimited disables the total limit, which would only wait.
var unlimited = events.Options{TotalWritesPerSecond: 1e9}

// costs measures the cost of an Event in the process, until it is written or
// dropped.
func costs(ctx context.Context) []bench.Measure {
	repeat := bench.Measure{
		Name: "repeat", Ours: repeating(ctx), Gates: []bench.Gate{{Unit: bench.Nanos, Limit: "<= 50000"}},
	}
	first := bench.Measure{
		// The library's number includes redaction.
		Name: "first occurrence", Ours: occurring(ctx, ours(unlimited)),
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: toolsRecord, Limit: usual},
			{Unit: bench.Nanos, Peer: toolsEvents, Limit: usual},
		},
	}
	memory := bench.Measure{
		Name: "memory of an object", Rounds: 3, Ours: remembering(ctx, ours(unlimited)),
		Counts: []bench.Count{{Unit: bench.Bytes, Limit: "<= 1024"}},
	}
	for _, w := range peers {
		first.Peers = append(first.Peers, occurring(ctx, w))
		memory.Peers = append(memory.Peers, remembering(ctx, w))
	}
	return []bench.Measure{repeat, first, spreading(ctx), memory, redacting()}
}

// repeating repeats the same failure of one object. client-go's recorders do
// their work for it later, so they are not measured.
func repeating(ctx context.Context) bench.Subject {
	var r recorder
	o := object("run-1")
	return bench.Subject{Do: func(n int) (err error) {
		if r.fail == nil {
			s := newStore()
			r, err = ours(unlimited).start(ctx, s)
			if err != nil {
				return err
			}
			r.fail(o, note)
			err = s.wait(1)
			if err != nil {
				return err
			}
		}
		for range n {
			r.fail(o, note)
		}
		return nil
	}}
}

// occurring records the first failure of one object after the other.
func occurring(ctx context.Context, w way) bench.Subject {
	f := firsts{way: w}
	return bench.Subject{Name: w.name, Least: batch, Do: func(n int) error { return f.fail(ctx, n) }}
}

// firsts fails one object after the other. After the last object it continues
// with a new recorder.
type firsts struct {
	way  way
	r    recorder
	s    *store
	all  []*corev1.ConfigMap
	next int // the index of the next object
}

// fail records n failures.
func (f *firsts) fail(ctx context.Context, n int) error {
	for done := 0; done < n; {
		if f.r.fail == nil || f.next == len(f.all) {
			if err := f.restart(ctx); err != nil {
				return err
			}
		}
		some := min(batch, n-done, len(f.all)-f.next)
		for _, o := range f.all[f.next : f.next+some] {
			f.r.fail(o, note)
		}
		f.next += some
		done += some
		if err := f.s.wait(f.next); err != nil {
			return err
		}
	}
	return nil
}

// restart begins at the first object, with a new recorder.
func (f *firsts) restart(ctx context.Context) (err error) {
	if f.r.fail != nil {
		f.r.stop()
	}
	if f.all == nil {
		f.all = objects(10_000)
	}
	f.s = newStore()
	f.next = 0
	f.r, err = f.way.start(ctx, f.s)
	return err
}

// batch is the number of Events before a wait, so that client-go's queues of
// 1,000 Events never overflow.
const batch = 400

// tracked is the number of failing objects in the measure of memory. It is less
// than client-go's limit of 4,096.
const tracked = 4000

// remembering counts the bytes on the heap for each object with a written
// failure.
func remembering(ctx context.Context, w way) bench.Subject {
	return bench.Subject{Name: w.name, Count: func() ([]float64, error) {
		all, s := objects(tracked), newStore()
		before := bench.Heap()
		r, err := w.start(ctx, s)
		if err != nil {
			return nil, err
		}
		for i, o := range all {
			r.fail(o, note)
			if i%batch < batch-1 && i < tracked-1 {
				continue
			}
			if err := s.wait(i + 1); err != nil {
				return nil, err
			}
		}
		after := bench.Heap()
		r.stop()
		runtime.KeepAlive(all)
		return []float64{(float64(after) - float64(before)) / tracked}, nil
	}}
}
