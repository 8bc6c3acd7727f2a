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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_CreatesTheJobOfACallThatWasCutOffBefore: there is nothing to adopt.
func TestStep_CreatesTheJobOfACallThatWasCutOffBefore(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	_, err := look(t.Context(), w.guard, jobgc.Ref{Namespace: "ns"})
	require.ErrorIs(t, err, errUnexpected, "the Job cannot be built, and does not exist")
	assert.Zero(t, w.creates)
	w.ensured(t)
	assert.Equal(t, 1, w.creates)
}

// recordedWorld has a finished Job whose outcome is recorded.
func recordedWorld(t *testing.T) (*world, jobgc.Ref) {
	t.Helper()
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	w.change("job", finish(time.Now()))
	w.store.sync(w.server)
	ref.Outcome = w.look(t, ref).Outcome
	return w, ref
}

// TestStep_ReleasesAgainstTheTTLController, which deletes the Job at the same
// time. The cache still shows it.
//
//req:shows J4
func TestStep_ReleasesAgainstTheTTLController(t *testing.T) {
	t.Run("Gone", func(t *testing.T) {
		w, ref := recordedWorld(t)
		w.remove("job")
		require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{}))
		assert.Equal(t, 1, w.patches)
		assert.Zero(t, w.gets, "a 404 of the Job says enough")
	})
	t.Run("Replaced", func(t *testing.T) {
		w, ref := recordedWorld(t)
		w.remove("job")
		w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "successor", Annotations: map[string]string{"a": "b"}}})
		before := w.jobs["job"].DeepCopy()
		require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
		assert.Equal(t, before, w.jobs["job"], "the test of the uid protects the successor")
		assert.Equal(t, 1, w.gets, "a live read explains the 422")
	})
	for name, tc := range map[string]struct {
		reason   string
		readable bool
		says     string
	}{
		"Refused":    {"A 422 for another reason is an error.", true, "jobgc: step: release ns/job: "},
		"Unreadable": {"The cause is unknown: the error has both.", false, "jobgc: step: looking for the Job ns/job, whose patch was refused (release ns/job: "},
	} {
		t.Run(name, func(t *testing.T) {
			w, ref := recordedWorld(t)
			refusal := invalid("job") // a webhook's, say
			g, err := jobgc.New(func(string) fakeJobs {
				client := fakeJobs{patch: func(string, []byte) (*batchv1.Job, error) { return nil, refusal }}
				if tc.readable {
					client.get = w.client("ns").get
				}
				return client
			}, w.store.get, w.store, jobgc.Options{})
			require.NoError(t, err)
			err = release(t.Context(), g, ref, jobgc.Retention{})
			require.ErrorContains(t, err, tc.says, tc.reason)
			require.ErrorContains(t, err, refusal.Error(), tc.reason)
			assert.Equal(t, tc.readable, errors.Is(err, refusal))
			assert.Equal(t, !tc.readable, errors.Is(err, errUnexpected))
		})
	}
}
