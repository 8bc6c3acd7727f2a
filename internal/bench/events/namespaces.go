// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/bench"
)

// oneNamespace is the library again, with all objects in one namespace, and
// tenth the same with a tenth of the objects.
const (
	oneNamespace = "one namespace"
	tenth        = "one namespace, a tenth of the objects"
)

// full is the default of Options.MaxObjects.
const full = 8192

// spreading records the first failure of one object after the other in a full
// Recorder, so that each makes room for the next. A call costs the same with
// all objects in one namespace, with each in another, and with fewer objects.
func spreading(ctx context.Context) bench.Measure {
	return bench.Measure{
		Name: "first occurrence, 8,192 namespaces",
		Ours: filling(ctx, "ours", full, func(n int) string { return "ci-" + strconv.Itoa(n) }),
		Peers: []bench.Subject{
			filling(ctx, oneNamespace, full, ci),
			filling(ctx, tenth, full/10, ci),
		},
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: oneNamespace, Limit: "<= 1.5x"},
			{Unit: bench.Nanos, Peer: tenth, Limit: "<= 1.5x"},
		},
	}
}

func ci(int) string { return "ci" }

func filling(ctx context.Context, name string, objects int, namespace func(n int) string) bench.Subject {
	var r recorder
	var s *store
	recorded := 0
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
	return bench.Subject{Name: name, Least: batch, Do: func(n int) (err error) {
		if r.fail != nil {
			return record(n)
		}
		s = newStore()
		r, err = ours(events.Options{TotalWritesPerSecond: 1e9, MaxObjects: objects}).start(ctx, s)
		if err != nil {
			return err
		}
		err = record(objects)
		if err != nil {
			return err
		}
		return record(n)
	}}
}
