// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_AdoptsTheJobOfACallThatWasCutOff between the creation and the write
// of the Ref: the work does not run twice.
//
//req:shows J2
func TestStep_AdoptsTheJobOfACallThatWasCutOff(t *testing.T) {
	lost := errors.New("connection reset")
	for name, tc := range map[string]struct {
		reason   string
		finished bool
		answered bool // the API server's answer to the creation came
	}{
		"Running":    {"The Job goes on.", false, true},
		"Finished":   {"Its result is the run's.", true, true},
		"Unanswered": {"The API server may have carried out a request whose answer was lost.", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			client := w.client("ns")
			create := client.create
			client.create = func(job *batchv1.Job) (*batchv1.Job, error) {
				job, err := create(job)
				if !tc.answered {
					return nil, lost
				}
				return job, err
			}
			g, err := jobgc.New(func(string) fakeJobs { return client }, w.store.get, w.store, jobgc.Options{})
			require.NoError(t, err)
			first, err := ensure(t.Context(), g, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
			if !tc.answered {
				require.ErrorIs(t, err, lost)
				require.Empty(t, first.UID)
			}
			if tc.finished {
				w.change("job", finish(time.Now()))
			}
			again := w.ensured(t) // by the next process
			assert.Equal(t, w.jobs["job"].UID, again.UID, tc.reason)
			assert.Len(t, w.jobs, 1)
			assert.Equal(t, tc.finished, again.Outcome == jobgc.Succeeded, tc.reason)
			w.store.sync(w.server)
			assert.Equal(t, tc.finished, w.look(t, again).State == jobgc.Finished, tc.reason)
		})
	}
}

// TestStep_CreatesTheJobOfACallThatWasCutOffBefore: there is nothing to adopt.
func TestStep_CreatesTheJobOfACallThatWasCutOffBefore(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	_, err := look(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"})
	require.ErrorIs(t, err, errUnexpected, "the Job cannot be built, and does not exist")
	assert.Zero(t, w.creates)
	w.ensured(t)
	assert.Equal(t, 1, w.creates)
}

// TestStep_ReleasesAfterACrash between the write of the outcome and the
// release, and only once.
//
//req:shows J4
func TestStep_ReleasesAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		ref := w.ensured(t)
		w.change("job", finish(time.Now()))
		w.store.sync(w.server)
		ref.Outcome = w.look(t, ref).Outcome // and written
		w.guard = newGuard(t, w, jobgc.Options{})
		keep := jobgc.Retention{SucceededTTL: 10 * time.Minute}
		assert.Equal(t, int32(604800), *w.jobs["job"].Spec.TTLSecondsAfterFinished, "until then the backstop holds")

		require.NoError(t, release(t.Context(), w.guard, ref, keep))
		assert.Equal(t, int32(600), *w.jobs["job"].Spec.TTLSecondsAfterFinished)

		// The controller crashed again before it wrote Released, or the schema
		// prunes it.
		w.guard = newGuard(t, w, jobgc.Options{})
		w.store.sync(w.server)
		for range 5 {
			time.Sleep(time.Minute)
			require.NoError(t, release(t.Context(), w.guard, ref, keep))
		}
		assert.Equal(t, 1, w.patches, "a Job that was released is not patched again, nor kept for longer")
		assert.Equal(t, int32(600), *w.jobs["job"].Spec.TTLSecondsAfterFinished)
	})
}

// TestStep_CountsTheFinalTTLFromTheRelease: Kubernetes counts a TTL from the
// finish. One that is set late would delete the Job immediately.
//
//req:shows J1 J4
func TestStep_CountsTheFinalTTLFromTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		ref := w.ensured(t)
		w.change("job", finish(time.Now()))
		time.Sleep(3 * time.Hour) // the controller was down
		w.store.sync(w.server)
		f := w.look(t, ref)
		ref.Outcome = f.Outcome
		require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: 10 * time.Minute}))
		ttl := time.Duration(*w.jobs["job"].Spec.TTLSecondsAfterFinished) * time.Second
		assert.Equal(t, time.Now().Add(10*time.Minute), f.FinishedAt.Add(ttl))
	})
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

// TestStep_OfTwoReplicas has the effect of one. One of them may be a leader
// that does not know yet that it has lost the lease.
//
//req:shows J2 J4
func TestStep_OfTwoReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		a, b := w.guard, newGuard(t, w, jobgc.Options{})
		intent := jobgc.Ref{Namespace: "ns", Name: "job"}
		refA, err := ensure(t.Context(), a, intent, ownedJob())
		require.NoError(t, err)
		refB, err := ensure(t.Context(), b, intent, ownedJob())
		require.NoError(t, err)
		assert.Equal(t, refA.UID, refB.UID)
		assert.Len(t, w.jobs, 1)
		w.change("job", finish(time.Now()))
		w.store.sync(w.server)
		refA.Outcome, refB.Outcome = jobgc.Succeeded, jobgc.Succeeded
		keep := jobgc.Retention{SucceededTTL: time.Minute}
		require.NoError(t, release(t.Context(), a, refA, keep))
		first := *w.jobs["job"].Spec.TTLSecondsAfterFinished
		time.Sleep(time.Second)
		require.NoError(t, release(t.Context(), b, refB, keep), "its cache is behind")
		assert.InDelta(t, first, *w.jobs["job"].Spec.TTLSecondsAfterFinished, 1, "the Job is kept from about the first release")

		w.remove("job")
		w.store.sync(w.server)
		time.Sleep(time.Minute)
		assert.Equal(t, jobgc.Collected, w.look(t, refA).State)
		assert.Equal(t, jobgc.Collected, w.look(t, refB).State)
	})
}
