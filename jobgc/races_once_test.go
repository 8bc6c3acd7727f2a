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

// A crash between the creation and the status write must not run the work
// twice.
func TestRace05CrashBeforeTheRefIsPersisted(t *testing.T) {
	for name, finished := range map[string]bool{"Running": false, "AlreadyFinished": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			first := w.ensured(t)
			if finished {
				w.change("job", finish(time.Now()))
			}
			w.guard = newGuard(t, w, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
			again := w.ensured(t)
			assert.Equal(t, first.UID, again.UID, "the Job of the attempt before is adopted")
			assert.Len(t, w.jobs, 1)
			assert.Equal(t, w.jobs["job"].ResourceVersion, again.ResourceVersion)
			w.store.sync(w.server)
			assert.Equal(t, finished, w.look(t, again).State == jobgc.Finished)
		})
	}
}

// The API server may have carried out a request whose answer was lost.
func TestRace05TheAnswerOfTheCreateIsLost(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	lost := errors.New("connection reset")
	client := w.client("ns")
	g, err := jobgc.New(func(string) fakeJobs {
		return fakeJobs{create: func(j *batchv1.Job) (*batchv1.Job, error) { _, _ = client.create(j); return nil, lost }}
	}, w.store, jobgc.Options{})
	require.NoError(t, err)
	ref, err := ensure(t.Context(), g, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
	require.ErrorIs(t, err, lost)
	assert.Empty(t, ref.UID)
	ref = w.ensured(t)
	assert.Equal(t, w.jobs["job"].UID, ref.UID)
	assert.Len(t, w.jobs, 1)
}

// A crash between the intent and the creation: there is nothing to look for.
func TestRace06CrashBeforeTheCreate(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	intent := jobgc.Ref{Namespace: "ns", Name: "job"}
	assert.Equal(t, jobgc.NotCreated, w.look(t, intent).State)
	w.ensured(t)
	assert.Equal(t, 1, w.creates)
}

// A crash between the status write and the release: the status shows the
// remaining steps.
func TestRace07CrashBeforeRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		ref := w.ensured(t)
		w.change("job", finish(time.Now()))
		w.store.sync(w.server)
		ref.Outcome = w.look(t, ref).Outcome // and persisted
		w.guard = newGuard(t, w, jobgc.Options{})
		keep := jobgc.Retention{SucceededTTL: 10 * time.Minute}
		assert.Equal(t, int32(604800), *w.jobs["job"].Spec.TTLSecondsAfterFinished, "until then the backstop holds")

		require.NoError(t, release(t.Context(), w.guard, ref, keep))
		assert.Equal(t, int32(600), *w.jobs["job"].Spec.TTLSecondsAfterFinished)

		// The controller crashed again before it persisted Released, or the
		// schema prunes Ref.Released.
		w.store.sync(w.server)
		for range 5 {
			time.Sleep(time.Minute)
			require.NoError(t, release(t.Context(), w.guard, ref, keep))
		}
		assert.Equal(t, 1, w.patches, "a Job that was released is not patched again, nor kept for longer")
		assert.Equal(t, int32(600), *w.jobs["job"].Spec.TTLSecondsAfterFinished)
	})
}

// Kubernetes counts a TTL from the finish: a TTL that is set late deletes the
// Job immediately.
func TestRace08TheTTLIsSetLate(t *testing.T) {
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
		assert.Equal(t, time.Now().Add(10*time.Minute), f.FinishedAt.Add(ttl), "ten minutes from the release")
	})
}

func TestRace14ReleaseAgainstTheTTLController(t *testing.T) {
	setup := func(t *testing.T) (*world, jobgc.Ref) {
		t.Helper()
		w := newWorld(t, jobgc.Options{})
		ref := w.ensured(t)
		w.change("job", finish(time.Now()))
		w.store.sync(w.server)
		ref.Outcome = w.look(t, ref).Outcome
		return w, ref
	}
	t.Run("Gone", func(t *testing.T) {
		w, ref := setup(t)
		w.remove("job")
		require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{}))
		assert.Equal(t, 1, w.patches)
		assert.Zero(t, w.gets)
	})
	t.Run("GoneAndReplaced", func(t *testing.T) {
		w, ref := setup(t)
		w.remove("job")
		w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "successor", Annotations: map[string]string{"a": "b"}}})
		require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Duration(0)}))
		assert.Nil(t, w.jobs["job"].Spec.TTLSecondsAfterFinished, "the test of the uid protects the successor")
		assert.Equal(t, 1, w.gets, "422 is checked")
	})
	t.Run("RefusedForAnotherReason", func(t *testing.T) {
		w, ref := setup(t)
		refusal := invalid("job") // a webhook's, say
		g, err := jobgc.New(func(string) fakeJobs {
			return fakeJobs{get: w.client("ns").get, patch: func(string, []byte) (*batchv1.Job, error) { return nil, refusal }}
		}, w.store, jobgc.Options{})
		require.NoError(t, err)
		require.ErrorIs(t, release(t.Context(), g, ref, jobgc.Retention{}), refusal, "a 422 for another reason is an error")
	})
	t.Run("RefusedAndNobodyKnowsWhy", func(t *testing.T) {
		w, ref := setup(t)
		refusal := invalid("job")
		g, err := jobgc.New(func(string) fakeJobs {
			return fakeJobs{patch: func(string, []byte) (*batchv1.Job, error) { return nil, refusal }}
		}, w.store, jobgc.Options{})
		require.NoError(t, err)
		require.ErrorIs(t, release(t.Context(), g, ref, jobgc.Retention{}), refusal)
	})
}

// Two replicas do the same thing twice to the same effect. One of them may be a
// leader that does not know yet that it has lost the lease.
func TestRace15TwoReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		a, b := w.guard, newGuard(t, w, jobgc.Options{})
		intent := jobgc.Ref{Namespace: "ns", Name: "job"}
		refA, err := ensure(t.Context(), a, intent, ownedJob())
		require.NoError(t, err)
		refB, err := ensure(t.Context(), b, intent, ownedJob())
		require.NoError(t, err)
		assert.Equal(t, refA.UID, refB.UID)
		w.change("job", finish(time.Now()))
		w.store.sync(w.server)
		refA.Outcome, refB.Outcome = jobgc.Succeeded, jobgc.Succeeded
		keep := jobgc.Retention{SucceededTTL: time.Minute}
		require.NoError(t, release(t.Context(), a, refA, keep))
		time.Sleep(time.Second)
		require.NoError(t, release(t.Context(), b, refB, keep), "its cache is behind")
		assert.Equal(t, int32(61), *w.jobs["job"].Spec.TTLSecondsAfterFinished, "and the first TTL is kept")

		w.remove("job")
		w.store.sync(w.server)
		assert.Equal(t, jobgc.Collected, w.look(t, refA).State)
		assert.Equal(t, jobgc.Collected, w.look(t, refB).State)
	})
}

// What a run costs beyond its creation and its status writes.
//
//req:shows J2
func TestRequestsOfANormalRun(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	w.look(t, ref)
	w.store.sync(w.server)
	w.look(t, ref)
	w.change("job", finish(time.Now()))
	w.store.sync(w.server)
	f := w.look(t, ref)
	ref.Outcome = f.Outcome
	require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
	ref.Released = true
	require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
	w.remove("job")
	w.store.sync(w.server)
	assert.Equal(t, jobgc.Collected, w.look(t, ref).State)
	assert.Equal(t, []int{1, 0, 1}, []int{w.creates, w.gets, w.patches})
}
