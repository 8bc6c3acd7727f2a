// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/bench"
)

// usual is the limit of a usual call: twice the fastest peer, or 50 µs.
const usual = "<= 2x or 50000"

// oneNamespace is the library again, with all objects in one namespace, and
// tenth the same with a tenth of the objects.
const (
	oneNamespace = "one namespace"
	tenth        = "one namespace, a tenth of the objects"
)

// full is the default of Options.MaxObjects.
const full = 8192

// batch is the number of Events before a wait, so that client-go's queues of
// 1,000 Events never overflow.
const batch = 400

// renewed is the number of Events of a recorder before the next one begins,
// because client-go's tools/events keeps all of them. A full Recorder goes on:
// to fill the next one would be measured too.
const renewed = 20_000

// costs measures the cost of an Event in the process, until it is written or
// dropped. In a full Recorder each new object makes room for itself. A call
// costs the same with all objects in one namespace, with each in another, and
// with fewer objects.
func costs(ctx context.Context) []bench.Measure {
	// The library's number includes redaction.
	first := bench.Measure{
		Name: "first occurrence", Ours: occurring(ctx, limitedTo("", full), 0, ci),
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: toolsRecord, Limit: usual},
			{Unit: bench.Nanos, Peer: toolsEvents, Limit: usual},
		},
	}
	for _, w := range peers {
		first.Peers = append(first.Peers, occurring(ctx, w, 0, ci))
	}
	each := func(n int) string { return "ci-" + strconv.Itoa(n) }
	return []bench.Measure{first, {
		Name: "first occurrence, 8,192 namespaces",
		Ours: occurring(ctx, limitedTo("", full), full, each),
		Peers: []bench.Subject{
			occurring(ctx, limitedTo(oneNamespace, full), full, ci),
			occurring(ctx, limitedTo(tenth, full/10), full/10, ci),
		},
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: oneNamespace, Limit: "<= 1.5x"},
			{Unit: bench.Nanos, Peer: tenth, Limit: "<= 1.5x"},
		},
	}}
}

// limitedTo is the library with room for some objects, and without the total
// limit, which would only wait.
func limitedTo(name string, objects int) way {
	o := events.Options{TotalWritesPerSecond: 1e9, MaxObjects: objects}
	return way{name: name, start: ours(o).start}
}

func ci(int) string { return "ci" }

// occurring records the first failure of one object after the other. Those
// before are not measured.
func occurring(ctx context.Context, w way, before int, namespace func(n int) string) bench.Subject {
	var r recorder
	var s *store
	var recorded int
	// The names of the objects have one length, which is a part of the cost.
	record := func(n int) error {
		for range n {
			o := object("run-" + strconv.Itoa(1e8+recorded))
			o.Namespace = namespace(recorded)
			r.fail(o, note)
			recorded++
			if recorded%batch > 0 {
				continue
			}
			err := s.wait(recorded)
			if err != nil {
				return err
			}
		}
		return s.wait(recorded)
	}
	return bench.Subject{Name: w.name, Do: func(n int) (err error) {
		switch {
		case r.fail != nil && (before > 0 || recorded < renewed):
			return record(n)
		case r.fail != nil:
			r.stop()
		}
		recorded = 0
		s = newStore()
		r, err = w.start(ctx, s)
		if err != nil {
			return err
		}
		return record(before + n)
	}}
}
