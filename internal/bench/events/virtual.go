// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// scenario is what happens to a recorder in virtual time.
type scenario struct {
	name string
	// server returns how the API server answers from now on; nil takes each write at once.
	server func() func(group string) error
	// http has the recorders write with real clients.
	http bool
	// record records failures, and returns how many objects must have an Event in the end.
	record func(fail func(o *corev1.ConfigMap, note string)) (objects int)
	// after passes between the last failure and the end of the process.
	after time.Duration
}

// outcome is what became of it.
type outcome struct {
	Writes   int
	Lost     int     // objects without an Event
	Most     int     // requests at once
	Requests int     // with those that were refused
	Last     float64 // seconds from the first failure to the last write
}

// play plays what it is told to, "scenario|way".
func play(ctx context.Context, what string) (outcome, error) {
	name, by, _ := strings.Cut(what, "|")
	scenarios := all()
	sc := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	w := slices.IndexFunc(ways, func(w way) bool { return w.name == by })
	if sc < 0 || w < 0 {
		return outcome{}, fmt.Errorf("there is no %q", what)
	}
	return scenarios[sc].run(ctx, ways[w])
}

func (sc scenario) run(ctx context.Context, w way) (outcome, error) {
	s := newStore()
	if sc.server != nil {
		s.answer = sc.server()
	}
	s.http, s.objects = sc.http, map[string]struct{}{}
	r, err := w.start(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	began := time.Now()
	want := sc.record(r.fail)
	pass(sc.after)
	out := s.outcome(began)
	r.stop()
	// Here the process would end: what goroutines that were left behind may still write does not count.
	out.Lost = want - s.stored()
	pass(time.Hour) // for them to end
	return out, nil
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// storm fails each of n objects every period, rounds times. The API is as fast as can be, and no queue overflows: all
// pauses are those of the recorder. The resourceVersion moves if the controller writes the objects' status.
func storm(n, rounds int, period time.Duration, moves bool, note func(round int) string) func(func(*corev1.ConfigMap, string)) int {
	return func(fail func(*corev1.ConfigMap, string)) int {
		all := objects(n)
		for round := range rounds {
			for i, o := range all {
				if moves {
					o.ResourceVersion = strconv.Itoa(round)
				}
				fail(o, note(round))
				if i%batch == batch-1 {
					synctest.Wait()
				}
			}
			pass(period)
		}
		return n
	}
}

// burst fails n objects at once, pause apart.
func burst(n int, pause time.Duration) func(func(*corev1.ConfigMap, string)) int {
	return func(fail func(*corev1.ConfigMap, string)) int {
		for _, o := range objects(n) {
			fail(o, note)
			if pause > 0 {
				pass(pause)
			}
		}
		return n
	}
}
