// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/jobgc"
)

// tenth is the library again, with a tenth of the Jobs.
const tenth = "a tenth of the Jobs"

// cost measures one call for a Job that runs, which a controller makes on every
// reconcile.
func cost(ctx context.Context) (bench.Measure, error) {
	many, err := looking(ctx, 10_000)
	if err != nil {
		return bench.Measure{}, err
	}
	few, err := looking(ctx, 1_000)
	return bench.Measure{
		Name:  "look at one of 10,000 cached Jobs",
		Ours:  bench.Subject{Do: many},
		Peers: []bench.Subject{{Name: tenth, Do: few}},
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Limit: "<= 50000"},
			{Unit: bench.Nanos, Peer: tenth, Limit: "<= 1.5x"},
		},
	}, err
}

// stored is the store of an informer with n Jobs that run.
func stored(n int) cache.Indexer {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace)
	for i := range n {
		j := job(i)
		j.UID = types.UID(j.Name)
		_ = store.Add(j) // its key is its name
	}
	return store
}

// looking looks at one of n Jobs after the other.
func looking(ctx context.Context, n int) (func(times int) error, error) {
	guard, err := jobgc.New(fake.NewClientset().BatchV1().Jobs, cachedBy(stored(n)), jobgc.Options{})
	if err != nil {
		return nil, err
	}
	var refs []jobgc.Ref
	for i := range n {
		name := job(i).Name
		refs = append(refs, jobgc.Ref{Namespace: namespace, Name: name, UID: types.UID(name)})
	}
	at := 0
	return bench.Each(func() error {
		f, err := look(ctx, guard, refs[at%n])
		if err == nil && f.State != jobgc.Active {
			err = fmt.Errorf("look says %s, not Active", f.State)
		}
		at++
		return err
	}), nil
}
