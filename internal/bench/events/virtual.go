// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// scenario is a load on a recorder, in virtual time.
type scenario struct {
	name  string
	takes time.Duration // each write
	// record records failures, and returns the number of objects that must have
	// an Event in the end.
	record func(fail func(o *corev1.ConfigMap, note string)) (objects int)
	// after is the time between the last failure and the end of the process.
	after time.Duration
}

// outcome has the counts of a scenario.
type outcome struct {
	Writes int
	Lost   int     // objects without an Event
	Most   int     // concurrent requests
	Last   float64 // seconds from the first failure to the last write
}

func (sc scenario) run(ctx context.Context, w way) (outcome, error) {
	s := newStore()
	s.takes = sc.takes
	s.objects = map[string]struct{}{}
	r, err := w.start(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	began := time.Now()
	want := sc.record(r.fail)
	pass(sc.after)
	out := s.outcome(began)
	r.stop()
	// The process would end here. Writes of remaining goroutines do not count.
	out.Lost = want - s.stored()
	pass(time.Hour) // until they end
	return out, nil
}

// pass waits in virtual time.
func pass(d time.Duration) { <-time.After(d) }

// storm lets an object fail every period. The API server answers immediately
// and no queue overflows, so all pauses are the recorder's. The resourceVersion
// changes, because the controller writes the object's status.
func storm(rounds int, period time.Duration) func(func(*corev1.ConfigMap, string)) int {
	return func(fail func(*corev1.ConfigMap, string)) int {
		o := object("run-0")
		for round := range rounds {
			o.ResourceVersion = strconv.Itoa(round)
			fail(o, note)
			pass(period)
		}
		return 1
	}
}

// burst lets n objects fail, with a pause in between.
func burst(n int, pause time.Duration) func(func(*corev1.ConfigMap, string)) int {
	return func(fail func(*corev1.ConfigMap, string)) int {
		for i := range n {
			fail(object("run-"+strconv.Itoa(i)), note)
			if pause > 0 {
				pass(pause)
			}
		}
		return n
	}
}
