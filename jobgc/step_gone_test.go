// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// settledWorld has a Job that cache and handler know, and whose Ref is older
// than the time that a cache may lag.
func settledWorld(t *testing.T) (*world, jobgc.Ref) {
	t.Helper()
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	w.store.sync(w.server)
	w.guard.OnAdd(w.store.items["ns/job"], false)
	time.Sleep(time.Minute)
	return w, ref
}

// TestStep_ReturnsTheResultThatTheDeleteEventCarries: with a TTL of 0, a Job is
// gone a moment after it ends, before a reconcile reads it.
//
//req:shows J4
func TestStep_ReturnsTheResultThatTheDeleteEventCarries(t *testing.T) {
	for _, delay := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w, ref := settledWorld(t)
			last := w.change("job", finish(time.Now()))
			last.Spec.TTLSecondsAfterFinished = ptr.To[int32](0)
			last.DeletionTimestamp = ptr.To(metav1.Now())
			w.guard.OnUpdate(w.store.items["ns/job"], last)
			w.remove("job")
			w.store.sync(w.server)
			w.guard.OnDelete(last)
			time.Sleep(delay)

			f := w.look(t, ref)
			assert.Equal(t, jobgc.Finished, f.State)
			assert.Equal(t, jobgc.Succeeded, f.Outcome)
			assert.Equal(t, "Tombstone", f.Source)
			assert.Equal(t, last.Status.StartTime.Time, f.StartedAt)
			assert.False(t, f.FinishedAt.IsZero())
			assert.Zero(t, w.gets)

			ref.Outcome = f.Outcome
			require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{}))
			assert.Zero(t, w.patches, "nothing is left to release")
			assert.Equal(t, jobgc.Collected, w.look(t, ref).State)
		})
	}
}

// TestStep_DeletedWhileItReads: the cache had the Job, running, and its delete
// event comes before the call goes on. The Job has not come back.
//
//req:shows J4
func TestStep_DeletedWhileItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ref := settledWorld(t)
		w.store.after = func() {
			w.store.after = nil
			w.change("job", finish(time.Now()))
			w.guard.OnDelete(w.remove("job"))
			w.store.sync(w.server)
		}
		for range 3 {
			f := w.look(t, ref)
			if f.State == jobgc.Active {
				continue // as it was when the cache was read
			}
			assert.Equal(t, jobgc.Finished, f.State)
			assert.Equal(t, "Tombstone", f.Source)
			time.Sleep(time.Minute)
		}
	})
}

// TestStep_UsesADeleteEventThatComesDuringTheReadOfTheOwner: the event is late
// by more than a second. No outcome is lost that the informer has brought.
//
//req:shows J4
func TestStep_UsesADeleteEventThatComesDuringTheReadOfTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ref := settledWorld(t)
		w.change("job", finish(time.Now()))
		last := w.remove("job")
		w.store.sync(w.server)
		require.Equal(t, jobgc.Pending, w.look(t, ref).State)
		time.Sleep(2 * time.Second)
		owner := &metav1.ObjectMeta{Namespace: ref.Namespace, Name: "run", UID: "run-uid"}
		next, f, err := w.guard.Step(t.Context(), jobgc.Request{
			Owner: owner, Ref: &ref,
			Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
				w.guard.OnDelete(last)
				return owner, &ref, false, nil
			},
			Job: func() (*batchv1.Job, error) { return nil, errUnexpected },
		})
		require.NoError(t, err)
		assert.Equal(t, jobgc.Finished, f.State)
		assert.Equal(t, jobgc.Succeeded, f.Outcome)
		assert.Equal(t, jobgc.Succeeded, next.Outcome)
	})
}

// TestStep_KeepsJobsOfOneNameApart by their uid.
func TestStep_KeepsJobsOfOneNameApart(t *testing.T) {
	t.Run("Successor", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, ref := settledWorld(t)
			w.remove("job")
			w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "successor"}})
			w.store.sync(w.server)
			time.Sleep(w.look(t, ref).After)
			f := w.look(t, ref)
			assert.Equal(t, jobgc.Replaced, f.State)
			assert.Equal(t, "LiveRead", f.Source)
			assert.Equal(t, "JobReplaced", f.Reason)
			assert.Nil(t, f.Job, "the Job of another controller is not returned")
			ref.Outcome = jobgc.Succeeded
			assert.Equal(t, jobgc.Collected, w.look(t, ref).State)
			require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
			assert.Nil(t, w.jobs["job"].Spec.TTLSecondsAfterFinished, "a successor is not touched")
			assert.Zero(t, w.patches)
		})
	})
	t.Run("CachedPredecessor", func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "predecessor"}})
		w.store.sync(w.server)
		w.remove("job")
		ref := w.ensured(t)
		assert.Equal(t, jobgc.Pending, w.look(t, ref).State)
		w.store.sync(w.server)
		assert.Equal(t, jobgc.Active, w.look(t, ref).State)
		assert.Zero(t, w.gets)
	})
	t.Run("DeletingPredecessor", func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "old", DeletionTimestamp: ptr.To(metav1.Now())}})
		_, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
		require.ErrorContains(t, err, "still being deleted")
		w.remove("job")
		w.ensured(t)
	})
}

// TestStep_AJobThatIsDeletedWhileHeld has an outcome only if it has finished.
func TestStep_AJobThatIsDeletedWhileHeld(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*batchv1.Job)
		cached bool
		state  jobgc.State
		source string
	}{
		"Running":       {"It never gets a condition.", deleting, true, jobgc.Deleting, "Seen"},
		"RunningLive":   {"It exists, so that no delete event is awaited.", deleting, false, jobgc.Deleting, "LiveRead"},
		"Finished":      {"Its outcome is known.", func(j *batchv1.Job) { finish(time.Now())(j); deleting(j) }, true, jobgc.Finished, "Seen"},
		"FinishedLive":  {"Its outcome is known.", func(j *batchv1.Job) { finish(time.Now())(j); deleting(j) }, false, jobgc.Finished, "LiveRead"},
		"FailedAlready": {"Its outcome is announced, and no further condition may come.", failing, true, jobgc.Finished, "Seen"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, ref := settledWorld(t)
				w.change("job", tc.change)
				w.store.items = map[string]*batchv1.Job{}
				if tc.cached {
					w.store.sync(w.server)
				}
				f := w.look(t, ref)
				assert.Equal(t, tc.state, f.State, tc.reason)
				assert.Equal(t, tc.source, f.Source)
				assert.Equal(t, tc.state == jobgc.Deleting, f.Lost())
				assert.Equal(t, tc.state == jobgc.Deleting, f.Outcome == "", "the workload of a lost Job has not failed")
				again := w.ensured(t)
				assert.Equal(t, ref.UID, again.UID, "nor does a lost Ref run it again")
				ref.Outcome = f.Outcome
				require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
				assert.Zero(t, w.patches, "it is on its way out already")
			})
		})
	}
}

// failing is a Job that is deleted after its failure was announced.
func failing(job *batchv1.Job) {
	deleting(job)
	job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobFailureTarget, time.Now())}
}

// TestStep_AMissedDelete has the last state that the informer knew, which may
// be old.
//
//req:shows J3
func TestStep_AMissedDelete(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		finished bool
		state    jobgc.State
		source   string
	}{
		"KnownFinished": {"A finish in a stale state is a finish.", true, jobgc.Finished, "Tombstone"},
		"KnownRunning":  {"It may have finished in the gap: the outcome is unknown.", false, jobgc.Missing, "LiveRead"},
	} {
		for form, wrap := range map[string]func(*batchv1.Job) any{
			"Value":   func(j *batchv1.Job) any { return cache.DeletedFinalStateUnknown{Key: "ns/job", Obj: j} },
			"Pointer": func(j *batchv1.Job) any { return &cache.DeletedFinalStateUnknown{Key: "ns/job", Obj: j} },
		} {
			t.Run(name+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, ref := settledWorld(t)
					if tc.finished {
						w.change("job", finish(time.Now()))
					}
					w.guard.OnDelete(wrap(w.remove("job")))
					w.store.sync(w.server)
					f := w.look(t, ref)
					assert.Equal(t, tc.state, f.State, tc.reason)
					assert.Equal(t, tc.source, f.Source, tc.reason)
				})
			})
		}
	}
}

// TestStep_UsesTheResultOfAJobThatWasRecreated while the watch was away: the
// informer lists again, calls OnUpdate with both Jobs, and OnDelete with none.
func TestStep_UsesTheResultOfAJobThatWasRecreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ref := settledWorld(t)
		last := w.change("job", finish(time.Now()))
		w.guard.OnUpdate(w.store.items["ns/job"], last)
		w.remove("job")
		next := w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "successor"}})
		w.store.sync(w.server)
		w.guard.OnUpdate(last, next)
		f := w.look(t, ref)
		assert.Equal(t, jobgc.Finished, f.State)
		assert.Equal(t, jobgc.Succeeded, f.Outcome)
		assert.Zero(t, w.gets)
	})
}
