// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"strconv"
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

// Right after a creation the lister says NotFound in a third of all tries, and
// always with a watch that lags.
func TestRace01CreatedAndTheCacheIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		ref := w.ensured(t)
		for _, lag := range []time.Duration{0, 50 * time.Millisecond, 250 * time.Millisecond, 1500 * time.Millisecond} {
			time.Sleep(lag)
			f := w.look(t, ref)
			assert.Equal(t, jobgc.Pending, f.State, lag)
			assert.Equal(t, "CacheBehind", f.Source)
			assert.Equal(t, time.Second, f.After)
		}
		w.store.sync(w.server)
		assert.Equal(t, jobgc.Active, w.look(t, ref).State)
		assert.Zero(t, w.gets, "waiting costs no request")
	})
}

// A cache that lags longer than CacheLagTimeout costs one live read a look; it
// makes no Job missing.
func TestRace01TheCacheStaysBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{CacheLagTimeout: 3 * time.Second})
		ref := w.ensured(t)
		time.Sleep(3500 * time.Millisecond)
		f := w.look(t, ref)
		assert.Equal(t, jobgc.Pending, f.State, "the second that CreatedAt lacks is given too")
		assert.Equal(t, 500*time.Millisecond, f.After, "no longer than that")
		time.Sleep(f.After)
		f = w.look(t, ref)
		assert.Equal(t, jobgc.Active, f.State)
		assert.Equal(t, "LiveRead", f.Source)
		assert.Equal(t, 1, w.gets)
	})
}

// CreatedAt has whole seconds: a Job that was created at the end of a second
// appears up to a second older.
func TestRace01AGraceBelowASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1900 * time.Millisecond)))
		w := newWorld(t, jobgc.Options{CacheLagTimeout: 500 * time.Millisecond})
		ref := w.ensured(t)
		time.Sleep(499 * time.Millisecond)
		assert.Equal(t, jobgc.Pending, w.look(t, ref).State)
		time.Sleep(time.Second)
		assert.Equal(t, "LiveRead", w.look(t, ref).Source)
		assert.Equal(t, 1, w.gets)
	})
}

// If the version were read after the lookup, a creation between the two would
// look like a deletion.
//
//req:shows J3
func TestRace02TheVersionIsReadBeforeTheLookup(t *testing.T) {
	w := newWorld(t, jobgc.Options{TrustCache: true})
	ref := w.ensured(t)
	w.store.during = func() { w.store.version = strconv.Itoa(w.version) } // the watch event comes in just now
	assert.Equal(t, jobgc.Pending, w.look(t, ref).State)
}

// With a TTL of 0 a Job is gone 0.1 s after its finish. The informer saw its
// last state.
func TestRace03DeletedByItsTTLBeforeTheReconcileReads(t *testing.T) {
	for _, delay := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			ref := w.ensured(t)
			w.guard.OnAdd(w.jobs["job"], false)
			last := w.change("job", finish(time.Now()))
			last.Spec.TTLSecondsAfterFinished = ptr.To[int32](0)
			last.DeletionTimestamp = ptr.To(metav1.Now())
			w.guard.OnUpdate(nil, last)
			w.remove("job")
			w.store.sync(w.server)
			w.guard.OnDelete(last)
			time.Sleep(delay)

			f := w.look(t, ref)
			assert.Equal(t, jobgc.Finished, f.State)
			assert.Equal(t, jobgc.Succeeded, f.Outcome)
			assert.Equal(t, "Tombstone", f.Source)
			assert.Equal(t, last, f.Job)
			assert.Contains(t, f.Hint, "probably deleted by its TTL")
			assert.Zero(t, w.gets)

			ref.Outcome = f.Outcome
			require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{}))
			assert.Zero(t, w.patches, "nothing is left to release")
			assert.Equal(t, jobgc.Collected, w.look(t, ref).State)
		})
	}
}

// The store drops a Job before it calls the handlers. An Inspect between the
// two must not declare the Job missing.
func TestRace03TheDeleteEventIsStillOnItsWay(t *testing.T) {
	for name, opts := range map[string]jobgc.Options{"Confirm": {}, "TrustCache": {TrustCache: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, opts)
				ref := w.ensured(t)
				w.guard.OnAdd(w.jobs["job"], false)
				last := w.change("job", finish(time.Now()))
				w.remove("job")
				w.store.sync(w.server)

				f := w.look(t, ref)
				assert.Equal(t, jobgc.Pending, f.State)
				time.Sleep(f.After / 2)
				assert.Equal(t, jobgc.Pending, w.look(t, ref).State)
				w.guard.OnDelete(last)
				assert.Equal(t, jobgc.Finished, w.look(t, ref).State)
				assert.Zero(t, w.gets)
			})
		})
	}
}

// The same if only a live read can tell that the Job is gone, and the event
// comes after the read.
func TestRace03TheDeleteEventComesAfterTheLiveRead(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	w.store.version = "" // of a client-go that does not tell it
	ref := w.ensured(t)
	w.guard.OnAdd(w.jobs["job"], false)
	w.change("job", finish(time.Now()))
	last := w.remove("job")
	assert.Equal(t, jobgc.Pending, w.look(t, ref).State)
	w.guard.OnDelete(last)
	assert.Equal(t, jobgc.Finished, w.look(t, ref).State)
	assert.Equal(t, 1, w.gets)
}

// The same if the event comes during the read.
func TestRace03TheDeleteEventComesDuringTheLiveRead(t *testing.T) {
	s := newServer()
	var g *jobgc.Guard[fakeJobs]
	g, err := jobgc.New(func(string) fakeJobs {
		return fakeJobs{get: func(name string) (*batchv1.Job, error) {
			g.OnDelete(s.remove("job"))
			return nil, notFound(name)
		}}
	}, nil, jobgc.Options{})
	require.NoError(t, err)
	job := s.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "mine"}})
	finish(time.Now())(job)
	f, err := g.Inspect(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"})
	require.NoError(t, err)
	assert.Equal(t, jobgc.Finished, f.State)
	assert.Equal(t, "Tombstone", f.Source)
}

// A restarted controller has no tombstone: the Job is missing, with proof, and
// so it stays.
//
//req:shows J3
func TestRace04TheSameWithARestartInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		ref := w.ensured(t)
		w.change("job", finish(time.Now()))
		w.remove("job")
		w.guard = newGuard(t, w, jobgc.Options{})
		w.store.sync(w.server)
		w.guard.OnAdd(&batchv1.Job{}, true) // the informer's first list has other Jobs
		f := w.look(t, ref)
		require.Equal(t, jobgc.Pending, f.State)
		time.Sleep(f.After)
		for range 3 {
			f = w.look(t, ref)
			assert.Equal(t, jobgc.Missing, f.State)
			assert.Equal(t, "LiveRead", f.Source)
			assert.Equal(t, "JobMissing", f.Reason)
			_, err := ensure(t.Context(), w.guard, ref, ownedJob())
			require.NoError(t, err)
		}
		assert.Equal(t, 1, w.creates, "the work does not run again")
	})
}

func TestRace09SameNameOtherUID(t *testing.T) {
	setup := func(t *testing.T) (*world, jobgc.Ref) {
		t.Helper()
		w := newWorld(t, jobgc.Options{})
		w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "predecessor"}})
		w.store.sync(w.server)
		w.remove("job")
		return w, w.ensured(t)
	}
	t.Run("NewJobVisible", func(t *testing.T) {
		w, ref := setup(t)
		w.remove("job")
		w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "successor"}})
		w.store.sync(w.server)
		f := w.look(t, ref)
		assert.Equal(t, jobgc.Replaced, f.State)
		assert.Equal(t, "LiveRead", f.Source)
		assert.Nil(t, f.Job, "the Job of another controller is not returned")
		ref.Outcome = jobgc.Succeeded
		f = w.look(t, ref)
		assert.Equal(t, jobgc.Collected, f.State)
		require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Duration(0)}))
		assert.Nil(t, w.jobs["job"].Spec.TTLSecondsAfterFinished, "a successor is not touched")
	})
	t.Run("OldJobStillCached", func(t *testing.T) {
		w, ref := setup(t)
		assert.Equal(t, jobgc.Pending, w.look(t, ref).State)
		w.store.sync(w.server)
		assert.Equal(t, jobgc.Active, w.look(t, ref).State)
		assert.Zero(t, w.gets)
	})
	t.Run("OldJobTerminating", func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "old", DeletionTimestamp: ptr.To(metav1.Now())}})
		_, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
		require.ErrorContains(t, err, "still being deleted")
		w.remove("job")
		w.ensured(t)
	})
}

// A held Job that was deleted while it ran never gets a condition.
func TestRace10DeletedWhileRunningAndHeld(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	w.change("job", func(j *batchv1.Job) {
		j.DeletionTimestamp, j.Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion", "example.com/hold"}
	})
	w.store.sync(w.server)
	f := w.look(t, ref)
	assert.Equal(t, jobgc.Deleting, f.State)
	assert.Empty(t, f.Outcome, "the workload has not failed")
	assert.True(t, f.Lost())
	require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{}))
	assert.Zero(t, w.patches)
}

// The same with a store that has no version, where only a live read can tell.
// The Job exists, so Inspect waits for no event.
func TestRace10SeenByALiveRead(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	w.store.version = ""
	ref := w.ensured(t)
	w.guard.OnAdd(w.jobs["job"], false)
	w.change("job", func(j *batchv1.Job) {
		j.DeletionTimestamp, j.Finalizers = ptr.To(metav1.Now()), []string{"example.com/hold"}
	})
	f := w.look(t, ref)
	assert.Equal(t, jobgc.Deleting, f.State)
	assert.Equal(t, "LiveRead", f.Source)
}

// A held Job that was deleted after its finish is Finished like any other.
func TestRace11DeletedWhenFinishedAndHeld(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	w.change("job", finish(time.Now()))
	w.change("job", func(j *batchv1.Job) { j.DeletionTimestamp = ptr.To(metav1.Now()) })
	w.store.sync(w.server)
	assert.Equal(t, jobgc.Finished, w.look(t, ref).State)
	again := w.ensured(t)
	assert.Equal(t, ref.UID, again.UID, "nor does a lost Ref run it again")
	ref.Outcome = jobgc.Succeeded
	require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
	assert.Zero(t, w.patches, "it is on its way out already")
}

// After a gap in the watch the informer hands over the last state it knew,
// which may be old.
func TestRace13TheLastStateIsUnknown(t *testing.T) {
	for name, finished := range map[string]bool{"KnownFinished": true, "KnownRunning": false} {
		for form, wrap := range map[string]func(*batchv1.Job) any{
			"Value":   func(j *batchv1.Job) any { return cache.DeletedFinalStateUnknown{Key: "ns/job", Obj: j} },
			"Pointer": func(j *batchv1.Job) any { return &cache.DeletedFinalStateUnknown{Key: "ns/job", Obj: j} },
		} {
			t.Run(name+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, jobgc.Options{})
					ref := w.ensured(t)
					if finished {
						w.change("job", finish(time.Now()))
					}
					w.guard.OnDelete(wrap(w.remove("job")))
					w.store.sync(w.server)
					w.look(t, ref)
					time.Sleep(time.Second)
					f := w.look(t, ref)
					if finished {
						assert.Equal(t, jobgc.Finished, f.State)
						assert.Equal(t, "Tombstone", f.Source)
						assert.Empty(t, f.Hint, "who deleted it cannot be guessed")
					} else {
						assert.Equal(t, jobgc.Missing, f.State, "it may have finished in the gap: the outcome is unknown")
						assert.Equal(t, "LiveRead", f.Source)
					}
				})
			})
		}
	}
}
