// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// opaque is an informer as controller-runtime's cache types it: the value has
// GetStore, but the interface does not.
type opaque interface{ HasSynced() bool }

// spread is what a cache of several namespaces returns. It has no single store.
type spread struct{}

func (spread) HasSynced() bool { return true }

// otherwise has a GetStore with another signature.
type otherwise struct{ spread }

func (otherwise) GetStore(name string) string { return name }

// storeless has a GetStore that does not return a store.
type storeless struct{ spread }

func (storeless) GetStore() any { return nil }

// several is the informer of a cache of several namespaces, like
// multiNamespaceInformer of controller-runtime: it has events and no store.
type several struct{ handlers []cache.ResourceEventHandler }

func (s *several) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, h)
	return nil, nil //nolint:nilnil // no caller looks at it
}

// broken cannot take a handler.
type broken struct{}

func (broken) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return nil, errors.New("it has stopped")
}

func TestNewRegistersItsHandler(t *testing.T) {
	informer := &several{}
	reads := 0
	g, err := jobgc.New(func(string) fakeJobs {
		return fakeJobs{get: func(name string) (*batchv1.Job, error) { reads++; return nil, notFound(name) }}
	}, informer, jobgc.Options{})
	require.NoError(t, err)
	require.Len(t, informer.handlers, 1)
	job := ownedJob()
	job.Namespace, job.UID = "ns", "1"
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "1"}
	look := func() jobgc.Observation {
		f, err := g.Inspect(t.Context(), ref)
		require.NoError(t, err)
		return f
	}
	informer.handlers[0].OnAdd(job, true)
	assert.Equal(t, jobgc.Active, look().State, "its events are its store")
	done := job.DeepCopy()
	finish(time.Now())(done)
	informer.handlers[0].OnUpdate(job, done)
	assert.Equal(t, "Seen", look().Source)
	assert.Equal(t, jobgc.Finished, look().State)
	assert.Zero(t, reads)
	informer.handlers[0].OnDelete(done)
	assert.Equal(t, "Tombstone", look().Source)
	ref.UID = "another"
	look()
	assert.Equal(t, 1, reads, "a Job that is not in the store is read live")

	_, err = jobgc.New(newServer().client, &broken{}, jobgc.Options{})
	require.ErrorContains(t, err, "jobgc: new: add an event handler to the informer: it has stopped")
}

func TestNewTakesAnInformerOrItsStore(t *testing.T) {
	job := ownedJob()
	job.Namespace, job.UID = "ns", "1"
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &batchv1.Job{}, 0, nil)
	require.NoError(t, informer.GetStore().Add(job))
	for name, tc := range map[string]struct {
		reason   string
		informer any
		reads    bool // live, for want of a store
		fails    string
	}{
		"Informer":      {"The Job is in its store, so nothing is read.", informer, false, ""},
		"Opaque":        {"GetStore is found although the interface lacks it.", opaque(informer), false, ""},
		"Store":         {"A store is accepted.", informer.GetStore(), false, ""},
		"None":          {"Every Inspect is a live read.", nil, true, ""},
		"NilPointer":    {"A nil pointer means live reads too.", (*fakeStore)(nil), true, ""},
		"ManyStores":    {"There is no single store: an error is better than ignoring the informer.", spread{}, false, "jobgc_test.spread is neither an informer of Jobs (GetStore or AddEventHandler) nor a store (GetByKey); pass one, or nil"},
		"AnotherMethod": {"The name of the method is not enough.", otherwise{}, false, "jobgc_test.otherwise is neither an informer"},
		"NoStore":       {"GetStore must return a store.", storeless{}, false, "jobgc_test.storeless is neither an informer"},
		"Lister":        {"The error names the wrong type.", "jobs", false, "string is neither an informer"},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			g, err := jobgc.New(func(string) fakeJobs {
				return fakeJobs{get: func(string) (*batchv1.Job, error) { reads++; return job, nil }}
			}, tc.informer, jobgc.Options{})
			if tc.fails != "" {
				require.ErrorContains(t, err, tc.fails, tc.reason)
				return
			}
			require.NoError(t, err, tc.reason)
			f, err := g.Inspect(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job", UID: "1"})
			require.NoError(t, err)
			assert.Equal(t, jobgc.Active, f.State)
			assert.Equal(t, tc.reads, reads == 1, tc.reason)
		})
	}
}

func TestNew_ReportsAllBadInput(t *testing.T) {
	_, err := jobgc.New[fakeJobs](nil, spread{}, jobgc.Options{
		Finalizer: "result", Retention: jobgc.Retention{SucceededTTL: -time.Second, RunTTL: time.Second},
	})
	require.EqualError(t, err, `jobgc: new: Options.Retention.SucceededTTL: -1s is not accepted; want 0 to keep, or a positive duration up to 68 years (596523h14m7s)
jobgc: new: Options.Retention.RunTTL: 1s is not accepted; want 0 to keep, or 1m0s up to 68 years (596523h14m7s)
jobgc: new: Options.Finalizer: "result" is not accepted; want a domain and a name, such as agents.example.com/result
jobgc: new: client is nil; want a function that returns the Job client of a namespace
jobgc: new: informer: jobgc_test.spread is neither an informer of Jobs (GetStore or AddEventHandler) nor a store (GetByKey); pass one, or nil for live reads`)
}

func TestGuard_NotMadeByNewIsAnError(t *testing.T) {
	var none *jobgc.Guard[fakeJobs]
	for _, g := range []*jobgc.Guard[fakeJobs]{none, {}} {
		_, _, err := g.Step(t.Context(), jobgc.Request{})
		require.EqualError(t, err, "jobgc: the Guard is nil or empty; make it with New")
		_, look := g.Inspect(t.Context(), jobgc.Ref{})
		require.EqualError(t, look, err.Error())
	}
}
