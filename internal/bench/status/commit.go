// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/status"
)

// change is what a reconcile did to the Run.
type change struct {
	name     string
	after    func() *Run
	requests string // the library's gate
}

// usual is the limit of a usual call: twice the fastest peer, or 50 µs.
const usual = "<= 2x or 50000"

var changes = []change{
	{"nothing changed", bigRun, "= 0"},
	{"a condition changed", flipped, "= 1"},
	{"a condition and fields changed", stepped, "= 1"},
}

// way is a way to write the change of a Run. It returns a function that writes
// to the server.
type way struct {
	name  string // of the peer; the library needs none
	start func(s *server, before, after *Run) (write func(context.Context) error, err error)
}

// The ways for a kind with Go types, and for one without. flux and cluster-api
// need them for the conditions. The library is the first.
var (
	typedWays = []way{
		{"", func(s *server, before, after *Run) (func(context.Context) error, error) {
			c, err := s.typed()
			w := status.ForResource(resource(c))
			return func(ctx context.Context) error { return ours(ctx, w, before, after.DeepCopy()) }, err
		}},
		{"controller-runtime", helper(guarded)},
		{"flux", helper(flux)},
		{"cluster-api", helper(capi)},
	}
	untypedWays = []way{
		{"", func(s *server, before, after *Run) (func(context.Context) error, error) {
			c, err := s.dynamic()
			w := status.ForResource(resource(c))
			was, is := untyped(before), untyped(after)
			return func(ctx context.Context) error { return ours(ctx, w, was, is.DeepCopy()) }, err
		}},
		{"controller-runtime", func(s *server, before, after *Run) (func(context.Context) error, error) {
			c, err := s.controllerRuntime()
			was, is := untyped(before), untyped(after)
			return func(ctx context.Context) error { return guardedUntyped(ctx, c, was, is.DeepCopy()) }, err
		}},
	}
)

// helper is a way with controller-runtime's client.
func helper(
	use func(ctx context.Context, c client.Client, before, after *Run) error,
) func(s *server, before, after *Run) (func(context.Context) error, error) {
	return func(s *server, before, after *Run) (func(context.Context) error, error) {
		c, err := s.controllerRuntime()
		return func(ctx context.Context) error { return use(ctx, c, before, after.DeepCopy()) }, err
	}
}

// commit measures a whole call, from two objects to the reply: comparing,
// converting, computing the patch, and the request through a real client, which
// encodes and decodes but sends nothing. The client decodes the reply into the
// object, so each run has its own.
func commit(ctx context.Context, name string, ways []way, ch change) (bench.Measure, error) {
	m := bench.Measure{
		Name: name + ", " + ch.name,
		Gates: []bench.Gate{
			{Unit: bench.Requests, Limit: ch.requests},
			{Unit: bench.Nanos, Peer: "controller-runtime", Limit: usual},
		},
	}
	for i, w := range ways {
		reply := stepped()
		if i == 0 {
			reply = committed(ch.after())
		}
		s, err := newServer(reply, false)
		if err != nil {
			return m, err
		}
		write, err := w.start(s, bigRun(), ch.after())
		if err != nil {
			return m, err
		}
		subject := bench.Subject{
			Name: w.name, Do: bench.Each(func() error { return write(ctx) }), Requests: s.requests,
		}
		if i == 0 {
			m.Ours = subject
		} else {
			m.Peers = append(m.Peers, subject)
		}
	}
	return m, nil
}

// growth is how much longer a commit of 1,000 changed conditions takes than one
// of 100. It is linear: 10 times.
func growth(ctx context.Context) bench.Measure {
	return bench.Measure{
		Name: "commit, 1,000 changed conditions in place of 100", Rounds: 5,
		Counts: []bench.Count{{Unit: "times", Limit: "<= 15"}},
		Ours: bench.Subject{Count: func() ([]float64, error) {
			few, err := timeOf(ctx, 100)
			if err != nil {
				return nil, err
			}
			many, err := timeOf(ctx, 1000)
			return []float64{many.Seconds() / few.Seconds()}, err
		}},
	}
}

// timeOf is how long a commit of n changed conditions takes.
func timeOf(ctx context.Context, n int) (time.Duration, error) {
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
	before := list("one")
	stored := list("other")
	_, err := status.Patch(before, stored, status.Facts{Progress: status.Running}, noon.Add(time.Hour))
	if err != nil {
		return 0, err
	}
	s, err := newServer(stored, false)
	if err != nil {
		return 0, err
	}
	write, err := typedWays[0].start(s, before, list("other"))
	if err != nil {
		return 0, err
	}
	const times = 20
	began := time.Now()
	for range times {
		err = write(ctx)
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began) / times, nil
}
