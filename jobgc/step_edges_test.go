// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_FindsTheJobOfARunThatIsDoneInTheCache after a restart.
func TestStep_FindsTheJobOfARunThatIsDoneInTheCache(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.stored.job = nil
	s.stored.done = true
	s.guard = newGuard(t, s.world, jobgc.Options{})
	s.step(t)
	assert.Nil(t, s.stored.job, "the cache is late")
	assert.Zero(t, s.gets)
	s.deliver()
	s.step(t)
	assert.NotNil(t, s.stored.job)
}

// TestStep_NameTaken has a type, which says whose the other Job is.
func TestStep_NameTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*batchv1.Job)
		owner  string
		going  bool
	}{
		"Nobodys":  {"It has no controller.", func(job *batchv1.Job) { job.OwnerReferences = nil }, "", false},
		"Others":   {"It belongs to another owner.", func(job *batchv1.Job) { job.OwnerReferences[0] = ownerRef("other", "x") }, "other", false},
		"Deleting": {"It goes away.", func(job *batchv1.Job) { job.OwnerReferences = nil; job.DeletionTimestamp = ptr.To(metav1.Now()) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			job := ownedJob()
			job.Name, job.UID = jobOfRun, "there"
			tc.change(job)
			s.put(job)
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			taken := new(jobgc.NameTakenError)
			require.ErrorAs(t, err, &taken, tc.reason)
			assert.Equal(t, "ns/"+jobOfRun, taken.Namespace+"/"+taken.Name)
			assert.Equal(t, tc.going, taken.Deleting)
			assert.Equal(t, tc.owner != "", taken.Controller != nil)
			if tc.owner != "" {
				assert.Equal(t, tc.owner, taken.Controller.Name)
			}
		})
	}
}

// TestStep_RefusesACachedReadOfAnotherJob or of none.
func TestStep_RefusesACachedReadOfAnotherJob(t *testing.T) {
	unknown := errors.New("unknown namespace for the cache")
	for name, tc := range map[string]struct {
		reason string
		cached jobgc.Cached
		want   string
	}{
		"Other": {"A field selector ignored the name.", func(context.Context, string, string) (*batchv1.Job, error) { return named("other"), nil }, `returned ns/other with the uid "uid-of-other", want this name and a uid`},
		"None":  {"Neither a Job nor an error.", func(context.Context, string, string) (*batchv1.Job, error) { return nil, nil }, "returned neither a Job nor an error"}, //nolint:nilnil // that is the case
		"Cache": {"The cache has other namespaces.", func(context.Context, string, string) (*batchv1.Job, error) { return nil, unknown }, "the cached read of the Job ns/run-run-uid: unknown namespace for the cache"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			g, err := jobgc.New(s.client, tc.cached, s.store, jobgc.Options{})
			require.NoError(t, err)
			_, _, err = g.Step(t.Context(), s.request(s.stored))
			require.ErrorContains(t, err, tc.want, tc.reason)
			assert.Zero(t, s.creates)
		})
	}
}
