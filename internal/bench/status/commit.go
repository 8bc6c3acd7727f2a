// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/internal/bench"
)

// change is what a reconcile did to the Run.
type change struct {
	name     string
	after    func() *Run
	requests string // the gate of ours
	allocs   string
	sent     bool
}

var changes = []change{
	{"nothing changed", bigRun, "= 0", "<= 20", false},
	{"a condition changed", flipped, "= 1", "<= 150", true},
	{"a condition and fields changed", stepped, "= 1", "<= 150", true},
}

// helpers are the peers' ways to write a status.
var helpers = []struct {
	name string
	use  func(ctx context.Context, c client.Client, before, after *Run) error
}{
	{"controller-runtime", guarded},
	{"flux", func(ctx context.Context, c client.Client, b, a *Run) error { return flux(ctx, c, b, a) }},
	{"cluster-api", func(ctx context.Context, c client.Client, b, a *Run) error { return capi(ctx, c, b, a) }},
}

// commit measures the work of the libraries alone. It counts all that one does with two objects until it hands the bytes
// of each request to the client: comparing, converting and computing the patch, the copies that flux's and cluster-api's
// helpers take for themselves, and that ours looks at the reply. It does not count what is the same for all and would
// hide the difference: requests take no time and no memory, no reply is decoded, and nobody is charged for the
// caller's own copy of the object (see copied for both together, and overHTTP for the whole way).
//
// The gate on the bytes of controller-runtime's patch is for one that is made. Where none is, the guard only compares two
// structs, which ours does too, and it reads the contract's fields: that ratio is reported, and its allocations are gated.
func commit(ctx context.Context, ch change) bench.Measure {
	before, after, c := bigRun(), ch.after(), &ourMemory[*Run]{reply: stepped()}
	m := bench.Measure{
		Name: "commit, " + ch.name,
		Ours: bench.Subject{
			Do:       bench.Each(func() error { return ours(ctx, c.Patch, before, after) }),
			Requests: func() int64 { return c.asked },
		},
		Gates: []bench.Gate{
			{Unit: bench.Requests, Limit: ch.requests},
			{Unit: bench.Allocs, Limit: ch.allocs},
			{Unit: bench.Allocs, Peer: "controller-runtime", Limit: "<= 0.2x"},
			{Unit: bench.Allocs, Peer: "flux", Limit: "<= 0.1x"},
			{Unit: bench.Bytes, Peer: "flux", Limit: "<= 0.1x"},
		},
	}
	if ch.sent {
		m.Gates = append(m.Gates, bench.Gate{Unit: bench.Bytes, Peer: "controller-runtime", Limit: "<= 0.2x"})
	}
	for _, h := range helpers {
		before, after, c := bigRun(), ch.after(), newMemory()
		m.Peers = append(m.Peers, bench.Subject{
			Name:     h.name,
			Do:       bench.Each(func() error { return h.use(ctx, c, before, after) }),
			Requests: func() int64 { return c.asked },
		})
	}
	return m
}

// copied is commit with the copy of the object that is made before it is changed. The helpers of flux and cluster-api
// make it themselves; here the others make it too.
func copied(ctx context.Context, ch change) bench.Measure {
	m := commit(ctx, ch)
	m.Name, m.Gates = "copy and "+m.Name, nil
	m.Ours.Do = copying(m.Ours.Do)
	m.Peers[0].Do = copying(m.Peers[0].Do)
	return m
}

func copying(do func(int) error) func(int) error {
	r := bigRun()
	return func(n int) error {
		for range n {
			if r.DeepCopy() == nil {
				return nil
			}
			if err := do(1); err != nil {
				return err
			}
		}
		return nil
	}
}

// commitUntyped is commit for a kind without Go types. flux and cluster-api need them for the conditions.
func commitUntyped(ctx context.Context, ch change) bench.Measure {
	before, after := untyped(bigRun()), untyped(ch.after())
	c := &ourMemory[*unstructured.Unstructured]{reply: untyped(stepped())}
	theirBefore, theirAfter := untyped(bigRun()), untyped(ch.after())
	memory := newMemory()
	return bench.Measure{
		Name: "commit unstructured, " + ch.name,
		Ours: bench.Subject{
			Do:       bench.Each(func() error { return ours(ctx, c.Patch, before, after) }),
			Requests: func() int64 { return c.asked },
		},
		Peers: []bench.Subject{{
			Name:     "controller-runtime",
			Do:       bench.Each(func() error { return guardedUntyped(ctx, memory, theirBefore, theirAfter) }),
			Requests: func() int64 { return memory.asked },
		}},
		Gates: []bench.Gate{{Unit: bench.Requests, Limit: ch.requests}},
	}
}

// overHTTP is commit through real clients, whose requests are encoded and decoded but not sent. The clients decode the
// reply into the object, so each run has its own.
func overHTTP(ctx context.Context, ch change) (bench.Measure, error) {
	before, after := bigRun(), ch.after()
	s, err := newServer(stepped(), false)
	if err != nil {
		return bench.Measure{}, err
	}
	c, err := s.typed()
	if err != nil {
		return bench.Measure{}, err
	}
	m := bench.Measure{
		Name: "commit over HTTP, " + ch.name,
		Ours: bench.Subject{
			Do:       bench.Each(func() error { return ours(ctx, c.Patch, before, after.DeepCopy()) }),
			Requests: s.requests,
		},
		Gates: []bench.Gate{{Unit: bench.Requests, Limit: ch.requests}},
	}
	for _, h := range helpers {
		s, err := newServer(stepped(), false)
		if err != nil {
			return m, err
		}
		c, err := s.controllerRuntime()
		if err != nil {
			return m, err
		}
		m.Peers = append(m.Peers, bench.Subject{
			Name:     h.name,
			Do:       bench.Each(func() error { return h.use(ctx, c, before, after.DeepCopy()) }),
			Requests: s.requests,
		})
	}
	return m, nil
}
