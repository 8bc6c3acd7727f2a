// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// lives counts the requests about a Job in its whole life: it is created,
// observed until it has finished, and released. That is one creation and one
// patch.
func lives(ctx context.Context) []bench.Measure {
	requests := func(number func(s *server) int) bench.Subject {
		return bench.Subject{Count: func() (float64, error) {
			s, err := life(ctx)
			return float64(number(s)), err
		}}
	}
	const name = "life of a Job that succeeds"
	return []bench.Measure{
		{Name: name, Unit: "GETs", Gates: []bench.Gate{{Unit: "GETs", Limit: "= 0"}}, Ours: requests(func(s *server) int { return s.gets })},
		{Name: name, Unit: "PATCHes", Gates: []bench.Gate{{Unit: "PATCHes", Limit: "= 1"}}, Ours: requests(func(s *server) int { return s.patches })},
	}
}

func life(ctx context.Context) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	keep := jobgc.Retention{SucceededTTL: 10 * time.Minute}
	w, err := newWorld(ctx, 20*time.Millisecond, jobgc.Options{Retention: keep})
	if err != nil {
		return &server{}, err
	}
	defer w.stop()
	owner := &metav1.ObjectMeta{Namespace: namespace, Name: "run-1", UID: "owner"}
	var ref *jobgc.Ref // in the status of the owner
	done := func() bool { return ref != nil && ref.Outcome != "" }
	for steps := range 200 {
		recorded := done()
		next, f, err := w.guard.Step(ctx, jobgc.Request{
			Owner: owner, Ref: ref, Done: done(),
			Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return owner, ref, done(), nil },
			Job: func() (*batchv1.Job, error) {
				owned := job(1)
				owned.Name = ""
				return owned, nil
			},
		})
		if err != nil || f.Lost() {
			return w.server, fmt.Errorf("the Job is %s: %w", f.State, err)
		}
		if ref = next; recorded {
			return w.server, nil // this step has released it
		}
		if steps == 20 {
			w.server.complete(ref.Name)
		}
		pass(2 * time.Millisecond)
	}
	return w.server, fmt.Errorf("the Job does not finish")
}
