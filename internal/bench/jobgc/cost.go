// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/jobgc"
)

// costs measure one look, which a controller does on every reconcile.
func costs(ctx context.Context) ([]bench.Measure, error) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	cached := job(1)
	cached.UID = "uid"
	if err := store.Replace([]any{cached}, "100"); err != nil {
		return nil, err
	}
	// Trust, or a Job that is gone costs the one live read that confirms it.
	guard, err := jobgc.New(newServer(0).client, store, jobgc.Options{TrustCache: true})
	if err != nil {
		return nil, err
	}
	ref := jobgc.Ref{Namespace: namespace, Name: cached.Name, UID: cached.UID, ResourceVersion: "99"}
	gone := ref
	gone.Name = "gone"
	lister := batchlisters.NewJobLister(store).Jobs(namespace)
	none := []bench.Gate{{Unit: bench.Allocs, Limit: "= 0"}}
	return []bench.Measure{
		{
			Name: "look at a cached Job", Gates: none,
			Ours: looking(ctx, guard, ref, jobgc.Active),
			Peers: []bench.Subject{{Name: plainLister, Do: bench.Each(func() error {
				_, err := lister.Get(ref.Name)
				return err
			})}},
		},
		{
			Name: "look at a Job proven gone", Gates: none,
			Ours: looking(ctx, guard, gone, jobgc.Missing),
			Peers: []bench.Subject{{Name: plainLister, Do: bench.Each(func() error {
				if _, err := lister.Get(gone.Name); !apierrors.IsNotFound(err) {
					return fmt.Errorf("the lister finds it: %w", err)
				}
				return nil
			})}},
		},
	}, nil
}

func looking(ctx context.Context, guard *jobgc.Guard[*server], ref jobgc.Ref, want jobgc.State) bench.Subject {
	return bench.Subject{Do: bench.Each(func() error {
		f, err := guard.Inspect(ctx, ref)
		if err == nil && f.State != want {
			err = fmt.Errorf("look says %s, not %s", f.State, want)
		}
		return err
	})}
}
