// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_LooksForTheJobOfARef in the cache first. Only a live read proves
// that the Job is gone, and a second one that its delete event is not late.
//
//req:shows J2 J3
func TestStep_LooksForTheJobOfARef(t *testing.T) {
	mine := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "mine"}}
	other := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "other"}}
	type answer struct {
		State  jobgc.State
		Source string
		Gets   int
		After  time.Duration
	}
	behind := answer{jobgc.Pending, "CacheBehind", 0, time.Second}
	for name, tc := range map[string]struct {
		reason  string
		age     time.Duration // of the Ref
		pruned  bool          // the schema prunes CreatedAt
		outcome jobgc.Outcome // in the Ref
		cached  *batchv1.Job
		live    *batchv1.Job
		first   answer
		settled answer // a second later
	}{
		"Cached": {
			"A Job in the cache needs no live read.", 0, false, "", mine, mine,
			answer{jobgc.Active, "Seen", 0, 0},
			answer{jobgc.Active, "Seen", 0, 0},
		},
		"CachedAndGone": {
			"The cached Job counts until its delete event arrives.", time.Hour, false, "", mine, nil,
			answer{jobgc.Active, "Seen", 0, 0},
			answer{jobgc.Active, "Seen", 0, 0},
		},
		"Behind": {
			"The cache has not seen the creation yet, and waiting costs no request.", 0, false, "", nil, mine,
			behind, behind,
		},
		"BehindPredecessor": {
			"An old Job of that name is still cached.", 0, false, "", other, mine,
			behind, behind,
		},
		"NotInTheCache": {
			"A filtered cache never has the Job: a live read finds it, and no event comes.", time.Hour, false, "", nil, mine,
			answer{jobgc.Active, "LiveRead", 1, 10 * time.Second},
			answer{jobgc.Active, "LiveRead", 2, 10 * time.Second},
		},
		"ClockOff": {
			"A creation in the future must not keep the answer back for an hour.", -time.Hour, false, "", nil, mine,
			answer{jobgc.Active, "LiveRead", 1, 10 * time.Second},
			answer{jobgc.Active, "LiveRead", 2, 10 * time.Second},
		},
		"CreatedAtPruned": {
			"Name and uid suffice for a live read.", 0, true, "", nil, mine,
			answer{jobgc.Active, "LiveRead", 1, 10 * time.Second},
			answer{jobgc.Active, "LiveRead", 2, 10 * time.Second},
		},
		"Gone": {
			"The loss waits a second for the delete event.", time.Hour, false, "", nil, nil,
			answer{jobgc.Pending, "CacheBehind", 1, time.Second},
			answer{jobgc.Missing, "LiveRead", 2, 0},
		},
		"GonePruned": {
			"Name and uid suffice to prove the loss.", 0, true, "", nil, nil,
			answer{jobgc.Pending, "CacheBehind", 1, time.Second},
			answer{jobgc.Missing, "LiveRead", 2, 0},
		},
		"GoneRecorded": {
			"A recorded outcome is not lost.", time.Hour, false, jobgc.Failed, nil, nil,
			answer{jobgc.Collected, "LiveRead", 1, 0},
			answer{jobgc.Collected, "LiveRead", 2, 0},
		},
		"Replaced": {
			"The name is another Job's.", time.Hour, false, "", other, other,
			answer{jobgc.Pending, "CacheBehind", 1, time.Second},
			answer{jobgc.Replaced, "LiveRead", 2, 0},
		},
		"ReplacedRecorded": {
			"A successor takes nothing from an outcome that is recorded.", time.Hour, false, jobgc.Failed, other, other,
			answer{jobgc.Collected, "LiveRead", 1, 0},
			answer{jobgc.Collected, "LiveRead", 2, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, jobgc.Options{})
				if tc.cached != nil {
					w.store.items["ns/job"] = tc.cached
				}
				if tc.live != nil {
					w.jobs["job"] = tc.live
				}
				ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: tc.outcome}
				if !tc.pruned {
					ref.CreatedAt = ptr.To(metav1.NewTime(time.Now().Add(-tc.age)))
				}
				f := w.look(t, ref)
				got := answer{f.State, f.Source, w.gets, f.After}
				assert.Equal(t, tc.first, got, tc.reason)
				time.Sleep(time.Second)
				f = w.look(t, ref)
				got = answer{f.State, f.Source, w.gets, f.After}
				assert.Equal(t, tc.settled, got, tc.reason)
			})
		})
	}
}

// TestStep_WaitsForACacheThatIsBehind for ten seconds. Right after a creation,
// a cache usually lacks the Job.
func TestStep_WaitsForACacheThatIsBehind(t *testing.T) {
	t.Run("Arrives", func(t *testing.T) {
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
	})
	t.Run("StaysBehind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// CreatedAt has whole seconds: this Job appears 0.9 seconds older.
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1900 * time.Millisecond)))
			w := newWorld(t, jobgc.Options{})
			ref := w.ensured(t)
			time.Sleep(10 * time.Second)
			assert.Equal(t, jobgc.Pending, w.look(t, ref).State, "the part of a second that CreatedAt lacks is given too")
			time.Sleep(time.Second)
			f := w.look(t, ref)
			assert.Equal(t, jobgc.Active, f.State, "a late cache makes no Job missing")
			assert.Equal(t, "LiveRead", f.Source)
			assert.Equal(t, 1, w.gets)
		})
	})
}

// TestStep_DeclaresEachJobLostOfManyThatVanish: more Jobs are deleted together
// than the Guard remembers, and the calls may come slowly.
//
//req:shows J3
func TestStep_DeclaresEachJobLostOfManyThatVanish(t *testing.T) {
	for pause, limit := range map[time.Duration]int{time.Millisecond: 8, 100 * time.Millisecond: 1, 3 * time.Second: 8} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			w.guard.Remember(limit)
			lost := map[types.UID]bool{}
			for i := range 100 {
				lost[types.UID(fmt.Sprint(i))] = false
			}
			for range 400 {
				w.lookAtAll(t, lost, pause)
			}
			for uid, is := range lost {
				assert.True(t, is, "%s, every %s", uid, pause)
			}
		})
	}
}

// lookAtAll looks for each Job that is not known to be lost, with pauses.
func (w *world) lookAtAll(t *testing.T, lost map[types.UID]bool, pause time.Duration) {
	t.Helper()
	for _, uid := range slices.Sorted(maps.Keys(lost)) {
		if !lost[uid] {
			lost[uid] = w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: uid}).Lost()
			time.Sleep(pause)
		}
	}
}

// TestStep_WaitsAgainAfterManyJobsHaveVanished: a minute later the next Job
// waits its second again.
func TestStep_WaitsAgainAfterManyJobsHaveVanished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		w.guard.Remember(1)
		state := func(uid types.UID) jobgc.State {
			return w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: uid}).State
		}
		assert.Equal(t, jobgc.Pending, state("first"))
		assert.Equal(t, jobgc.Missing, state("one-too-many"))
		time.Sleep(time.Minute)
		assert.Equal(t, jobgc.Pending, state("next"))
	})
}

// TestGuard_IsSafeForConcurrentUse: the race detector watches all methods.
func TestGuard_IsSafeForConcurrentUse(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	done := ownedJob()
	done.Namespace, done.UID = "ns", "mine"
	finish(time.Now())(done)
	cached := func(_ context.Context, namespace, name string) (*batchv1.Job, error) {
		obj, ok, err := store.GetByKey(namespace + "/" + name)
		if err != nil || !ok {
			return nil, errors.Join(err, notFound(name))
		}
		return obj.(*batchv1.Job), nil
	}
	read := func(name string) (*batchv1.Job, error) {
		job := done.DeepCopy()
		job.Name = name
		return job, nil
	}
	g, err := jobgc.New(func(string) fakeJobs { return fakeJobs{get: read} }, cached, &fakeStore{}, jobgc.Options{})
	require.NoError(t, err)
	g.Remember(2)
	var wg sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		wg.Go(func() {
			for n := range 200 {
				job := done.DeepCopy()
				job.UID, job.Name = types.UID(fmt.Sprint(i, n)), fmt.Sprint("job", n%5)
				added := store.Add(job)
				g.OnAdd(job, false)
				_, err := look(t.Context(), g, jobgc.Ref{Namespace: "ns", Name: job.Name, UID: job.UID})
				failed[i] = errors.Join(failed[i], added, err, store.Delete(job))
				g.OnUpdate(nil, job)
				g.OnDelete(job)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(failed...))
}

// TestStep_ReturnsAnUnwrittenRefAgain with the same time, so that a write that
// is repeated changes nothing.
func TestStep_ReturnsAnUnwrittenRefAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		first := w.ensured(t)
		time.Sleep(5 * time.Second)
		assert.Equal(t, first, w.ensured(t))
		assert.Zero(t, w.gets)
		time.Sleep(5 * time.Second)
		assert.Equal(t, first, w.ensured(t))
		assert.Equal(t, 1, w.gets, "the cache may lag behind for ten seconds")
		w.store.sync(w.server)
		assert.Equal(t, first, w.ensured(t))
	})
}
