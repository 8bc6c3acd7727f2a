// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/jobgc"
)

// costs measure one call for a Job that runs, which a controller makes on every
// reconcile.
func costs(ctx context.Context) ([]bench.Measure, error) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	cached := job(1)
	cached.UID = "uid"
	if err := store.Replace([]any{cached}, "100"); err != nil {
		return nil, err
	}
	lister := batchlisters.NewJobLister(store).Jobs(namespace)
	guard, err := jobgc.New(newServer(0).client, cachedBy(store), still{}, jobgc.Options{})
	if err != nil {
		return nil, err
	}
	ref := jobgc.Ref{Namespace: namespace, Name: cached.Name, UID: cached.UID}
	return []bench.Measure{{
		Name: "look at a cached Job",
		Ours: looking(ctx, guard, ref, jobgc.Active),
		Peers: []bench.Subject{{Name: plainLister, Do: bench.Each(func() error {
			_, err := lister.Get(ref.Name)
			return err
		})}},
	}}, nil
}

// still is an informer without events.
type still struct{}

// AddEventHandler registers nothing.
func (still) AddEventHandler(cache.ResourceEventHandler) (still, error) { return still{}, nil }

// HasSynced is that of a registration.
func (still) HasSynced() bool { return true }

func looking(ctx context.Context, guard *jobgc.Guard, ref jobgc.Ref, want jobgc.State) bench.Subject {
	return bench.Subject{Do: bench.Each(func() error {
		f, err := look(ctx, guard, ref)
		if err == nil && f.State != want {
			err = fmt.Errorf("look says %s, not %s", f.State, want)
		}
		return err
	})}
}
