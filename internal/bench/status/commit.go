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

// helpers are the peers' ways to write a status.
var helpers = []struct {
	name string
	use  func(ctx context.Context, c client.Client, before, after *Run) error
}{
	{"controller-runtime", guarded},
	{"flux", flux},
	{"cluster-api", capi},
}

// commit measures a whole call, from two objects to the reply: comparing,
// converting, computing the patch, and the request through a real client, which
// encodes and decodes but sends nothing. The client decodes the reply into the
// object, so each run has its own.
func commit(ctx context.Context, ch change) (bench.Measure, error) {
	before, after := bigRun(), ch.after()
	s, err := newServer(committed(ch.after()), false)
	if err != nil {
		return bench.Measure{}, err
	}
	c, err := s.typed()
	if err != nil {
		return bench.Measure{}, err
	}
	w := status.ForResource(resource(c))
	m := ch.measure("commit, ", writing("", s, func() error {
		return ours(ctx, w, before, after.DeepCopy())
	}))
	for _, h := range helpers {
		s, c, err := theirs()
		if err != nil {
			return m, err
		}
		m.Peers = append(m.Peers, writing(h.name, s, func() error {
			return h.use(ctx, c, before, after.DeepCopy())
		}))
	}
	return m, nil
}

// writing is a way to write to a server.
func writing(name string, s *server, write func() error) bench.Subject {
	return bench.Subject{Name: name, Do: bench.Each(write), Requests: s.requests}
}

// measure compares ways to write a change.
func (ch change) measure(name string, ours bench.Subject, peers ...bench.Subject) bench.Measure {
	return bench.Measure{
		Name: name + ch.name, Ours: ours, Peers: peers,
		Gates: []bench.Gate{
			{Unit: bench.Requests, Limit: ch.requests},
			{Unit: bench.Nanos, Peer: "controller-runtime", Limit: usual},
		},
	}
}

// commitUntyped is commit for a kind without Go types. flux and cluster-api
// need them for the conditions.
func commitUntyped(ctx context.Context, ch change) (bench.Measure, error) {
	before, after := untyped(bigRun()), untyped(ch.after())
	s, err := newServer(committed(ch.after()), false)
	if err != nil {
		return bench.Measure{}, err
	}
	c, err := s.dynamic()
	if err != nil {
		return bench.Measure{}, err
	}
	peer, memory, err := theirs()
	if err != nil {
		return bench.Measure{}, err
	}
	w := status.ForResource(resource(c))
	own := writing("", s, func() error { return ours(ctx, w, before, after.DeepCopy()) })
	return ch.measure("commit unstructured, ", own, writing("controller-runtime", peer, func() error {
		return guardedUntyped(ctx, memory, before, after.DeepCopy())
	})), nil
}

// theirs is a server for a peer, and its client.
//
//nolint:ireturn // it has no concrete type
func theirs() (*server, client.Client, error) {
	s, err := newServer(stepped(), false)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.controllerRuntime()
	return s, c, err
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
	c, err := s.typed()
	if err != nil {
		return 0, err
	}
	w := status.ForResource(resource(c))
	after := list("other")
	const times = 20
	began := time.Now()
	for range times {
		err = ours(ctx, w, before, after.DeepCopy())
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began) / times, nil
}
