// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	batchv1listers "k8s.io/client-go/listers/batch/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestNew_ReportsAllBadInput(t *testing.T) {
	var none *fakeStore
	_, err := jobgc.New[fakeJobs](nil, none, jobgc.Options{
		Finalizer: "result", Retention: jobgc.Retention{SucceededTTL: -time.Second},
	})
	require.EqualError(t, err, `jobgc: new: Options.Retention.SucceededTTL: -1s is not accepted; want 0 to keep, or a positive duration up to 68 years (596523h14m7s)
jobgc: new: Options.Finalizer: "result" is not accepted; want a domain and a name, such as agents.example.com/result
jobgc: new: client is nil; want a function that returns the Job client of a namespace
jobgc: new: cached holds a nil pointer; want FromCache or FromLister of an informer, or nil to read live`)
}

func TestNew_RefusesACacheThatIsNil(t *testing.T) {
	var lister batchv1listers.JobLister
	var nilCache *fakeCache
	for name, cached := range map[string]jobgc.Cached{
		"Lister": jobgc.FromLister(lister),
		"Cache":  jobgc.FromCache(nilCache),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jobgc.New(newServer().client, cached, jobgc.Options{})
			require.EqualError(t, err, "jobgc: new: cached holds a nil pointer; want FromCache or FromLister of an informer, or nil to read live")
		})
	}
}

// fakeCache has the methods of controller-runtime's cache.
type fakeCache struct{}

func (*fakeCache) Get(context.Context, types.NamespacedName, runtime.Object, ...any) error {
	return nil
}
func (*fakeCache) List(context.Context, runtime.Object, ...any) error { return nil }

// TestNew_RefusesAFinalizerWithoutACache: nothing would find the held Jobs of
// owners that are gone.
func TestNew_RefusesAFinalizerWithoutACache(t *testing.T) {
	_, err := jobgc.New(newServer().client, nil, jobgc.Options{Finalizer: holder})
	require.EqualError(t, err, "jobgc: new: Options.Finalizer is set, and cached is nil; SweepOrphans needs a cache to find the Jobs that are held")
}

func TestNew_TakesAFinalizerWithADomain(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "agents.example.com/result": true, "result": false, "example.com/": false, "/result": false, "a/b/c": false,
	} {
		_, err := jobgc.New(newServer().client, &fakeStore{}, jobgc.Options{Finalizer: name})
		require.Equal(t, ok, err == nil, "%s: %v", name, err)
	}
}

func TestGuard_NotMadeByNewIsAnError(t *testing.T) {
	var none *jobgc.Guard
	for _, g := range []*jobgc.Guard{none, {}} {
		_, _, err := g.Step(t.Context(), jobgc.Request{})
		require.EqualError(t, err, "jobgc: the Guard is nil or empty; make it with New")
		err = g.SweepOrphans(t.Context(), missing, missing)
		require.EqualError(t, err, "jobgc: the Guard is nil or empty; make it with New")
	}
}
