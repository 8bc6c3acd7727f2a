// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// opaque is an informer as controller-runtime's cache types it: GetStore is there, and not in the interface.
type opaque interface{ HasSynced() bool }

// spread is what a cache of several namespaces returns: there is no one store.
type spread struct{}

func (spread) HasSynced() bool { return true }

// otherwise has a method of that name that is another one.
type otherwise struct{ spread }

func (otherwise) GetStore(name string) string { return name }

// storeless returns what is no store.
type storeless struct{ spread }

func (storeless) GetStore() any { return nil }

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
		"Opaque":        {"What the interface leaves out is found.", opaque(informer), false, ""},
		"Store":         {"The store itself will do.", informer.GetStore(), false, ""},
		"None":          {"Every Look is a live read.", nil, true, ""},
		"NilPointer":    {"So it is with an informer that was never made.", (*fakeStore)(nil), true, ""},
		"ManyStores":    {"Each namespace has its own: an informer that is silently not used would be worse.", spread{}, false, "jobgc_test.spread is no informer of one store"},
		"AnotherMethod": {"The name alone makes no informer.", otherwise{}, false, "jobgc_test.otherwise is no informer"},
		"NoStore":       {"Nor does what it returns.", storeless{}, false, "jobgc_test.storeless is no informer"},
		"Lister":        {"What is wrong is named.", "jobs", false, "string is no informer of one store (GetStore) and no store (GetByKey); pass one, or nil"},
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
			f, err := g.Look(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job", UID: "1"})
			require.NoError(t, err)
			assert.Equal(t, jobgc.Active, f.State)
			assert.Equal(t, tc.reads, reads == 1, tc.reason)
		})
	}
}
