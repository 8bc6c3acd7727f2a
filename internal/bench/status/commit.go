// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/status"
)

// change is what a reconcile did to the Run.
type change struct {
	name     string
	after    func() *Run
	requests string // the library's gate
}

var changes = []change{
	{"nothing changed", bigRun, "= 0"},
	{"a condition changed", flipped, "= 1"},
	{"a condition and fields changed", stepped, "= 1"},
}

// ways are the ways to write the change of a Run. The library is the first.
var ways = []struct {
	name  string // of the peer; the library needs none
	write func(ctx context.Context, s *server, before, after *Run) error
}{
	{"", ours}, {"controller-runtime", guarded}, {"flux", flux}, {"cluster-api", capi},
}

// commit measures a whole call, from two objects to the reply: comparing,
// converting, computing the patch, and the request through a real client, which
// encodes and decodes but sends nothing. The client decodes the reply into the
// object, so each run has its own.
func commit(ctx context.Context, ch change) (bench.Measure, error) {
	var subjects []bench.Subject
	for i, w := range ways {
		reply := stepped()
		if i == 0 {
			reply = committed(ch.after())
		}
		s, err := newServer(reply, false)
		if err != nil {
			return bench.Measure{}, err
		}
		before, after := bigRun(), ch.after()
		subjects = append(subjects, bench.Subject{
			Name: w.name, Requests: s.requests,
			Do: bench.Each(func() error { return w.write(ctx, s, before, after.DeepCopy()) }),
		})
	}
	return bench.Measure{
		Name: "commit, " + ch.name, Ours: subjects[0], Peers: subjects[1:],
		Gates: []bench.Gate{
			{Unit: bench.Requests, Limit: ch.requests},
			{Unit: bench.Nanos, Peer: "controller-runtime", Limit: "<= 2x or 50000"},
		},
	}, nil
}

// tenth is the library again, with a tenth of the conditions.
const tenth = "a tenth of the conditions"

// growth compares a commit of 1,000 changed conditions with one of 100. The
// time is linear: 10 times.
func growth(ctx context.Context) (bench.Measure, error) {
	many, err := changing(ctx, 1000)
	if err != nil {
		return bench.Measure{}, err
	}
	few, err := changing(ctx, 100)
	return bench.Measure{
		Name: "commit, 1,000 changed conditions",
		Ours: bench.Subject{Do: many}, Peers: []bench.Subject{{Name: tenth, Do: few}},
		Gates: []bench.Gate{{Unit: bench.Nanos, Peer: tenth, Limit: "<= 15x"}},
	}, err
}

// changing is a commit of n changed conditions.
func changing(ctx context.Context, n int) (func(times int) error, error) {
	list := func(message string) *Run {
		r := bigRun()
		one := r.Status.Conditions[0]
		r.Status.Conditions = nil
		for i := range n {
			one.Type = "Condition" + strconv.Itoa(i)
			one.Message = message
			r.Status.Conditions = append(r.Status.Conditions, one)
		}
		return r
	}
	before, after, stored := list("one"), list("other"), list("other")
	facts := status.Facts{Progress: status.Running}
	_, err := (status.FieldNames{}).Patch(before, stored, facts, noon.Add(time.Hour))
	if err != nil {
		return nil, err
	}
	s, err := newServer(stored, false)
	return bench.Each(func() error { return ours(ctx, s, before, after.DeepCopy()) }), err
}
