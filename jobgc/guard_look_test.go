// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestGuardLook(t *testing.T) {
	now := metav1.Now()
	mine := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "100"}}
	other := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "other"}}
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "100", CreatedAt: &now}
	with := func(edit func(*jobgc.Ref)) jobgc.Ref {
		r := ref
		edit(&r)
		return r
	}
	old := with(func(r *jobgc.Ref) { r.CreatedAt = new(metav1.NewTime(now.Add(-time.Hour))) })
	recorded := with(func(r *jobgc.Ref) { r.Outcome = jobgc.Failed })
	type found struct {
		State jobgc.State
		Proof jobgc.Proof
		Gets  int
	}
	cases := map[string]struct {
		reason  string
		opts    jobgc.Options
		ref     jobgc.Ref
		version string       // of the store
		cached  *batchv1.Job // in the store
		live    *batchv1.Job // on the server
		want    found
	}{
		"Cached":            {"What is seen needs no proof.", jobgc.Options{}, ref, "100", mine, mine, found{jobgc.Active, jobgc.BySight, 0}},
		"CachedAndGone":     {"The delete event is to come; until then the cache counts.", jobgc.Options{}, ref, "100", mine, nil, found{jobgc.Active, jobgc.BySight, 0}},
		"AtCreation":        {"A store at the very version has seen the creation.", jobgc.Options{Trust: true}, ref, "100", nil, nil, found{jobgc.Missing, jobgc.ByCacheRV, 0}},
		"Behind":            {"Not yet.", jobgc.Options{}, ref, "99", nil, mine, found{jobgc.Pending, jobgc.ByCacheLag, 0}},
		"BehindByDigits":    {"Versions are numbers, not text.", jobgc.Options{}, ref, "99", nil, mine, found{jobgc.Pending, jobgc.ByCacheLag, 0}},
		"PastByDigits":      {"1000 is past 100.", jobgc.Options{Trust: true}, ref, "1000", nil, mine, found{jobgc.Missing, jobgc.ByCacheRV, 0}},
		"BehindGraceOver":   {"The server tells.", jobgc.Options{}, old, "99", nil, mine, found{jobgc.Active, jobgc.ByLiveRead, 1}},
		"BehindNoGrace":     {"A negative grace reads at once.", jobgc.Options{Grace: -1}, ref, "99", nil, mine, found{jobgc.Active, jobgc.ByLiveRead, 1}},
		"BehindLongerGrace": {"A grace of one's own.", jobgc.Options{Grace: 2 * time.Hour}, old, "99", nil, mine, found{jobgc.Pending, jobgc.ByCacheLag, 0}},
		"BehindLongestGrace": {
			"As long as a duration can be, and no longer than a sum can hold.",
			jobgc.Options{Grace: math.MaxInt64},
			old, "99", nil, mine,
			found{jobgc.Pending, jobgc.ByCacheLag, 0},
		},
		"BehindAndClockOff": {
			"A creation in the future must not make a Job pending for an hour.",
			jobgc.Options{},
			with(func(r *jobgc.Ref) { r.CreatedAt = new(metav1.NewTime(now.Add(time.Hour))) }), "99", nil, mine,
			found{jobgc.Active, jobgc.ByLiveRead, 1},
		},
		"BehindCreatedAtPruned": {
			"Without a time there is no grace.",
			jobgc.Options{},
			with(func(r *jobgc.Ref) { r.CreatedAt = nil }), "99", nil, mine,
			found{jobgc.Active, jobgc.ByLiveRead, 1},
		},
		"BehindAndGone":     {"Only the server can tell, and it does.", jobgc.Options{}, old, "99", nil, nil, found{jobgc.Missing, jobgc.ByLiveRead, 1}},
		"BehindPredecessor": {"An old Job of that name is still cached.", jobgc.Options{Trust: true}, ref, "99", other, mine, found{jobgc.Pending, jobgc.ByCacheLag, 0}},
		"Gone":              {"Confirmed by one read.", jobgc.Options{}, ref, "200", nil, nil, found{jobgc.Missing, jobgc.ByLiveRead, 1}},
		"GoneTrusted":       {"The cache alone will do.", jobgc.Options{Trust: true}, ref, "200", nil, nil, found{jobgc.Missing, jobgc.ByCacheRV, 0}},
		"GoneRecorded":      {"Nothing is claimed, so nothing is confirmed.", jobgc.Options{}, recorded, "200", nil, nil, found{jobgc.Collected, jobgc.ByCacheRV, 0}},
		"Replaced":          {"Confirmed by one read.", jobgc.Options{}, ref, "200", other, other, found{jobgc.Replaced, jobgc.ByLiveRead, 1}},
		"ReplacedTrusted":   {"The cache alone will do.", jobgc.Options{Trust: true}, ref, "200", other, other, found{jobgc.Replaced, jobgc.ByCacheRV, 0}},
		"ReplacedRecorded":  {"A successor is no loss.", jobgc.Options{}, recorded, "200", other, other, found{jobgc.Collected, jobgc.ByCacheRV, 0}},
		"FilteredInformer":  {"The store never had it, however far it is; the read saves the Job.", jobgc.Options{}, ref, "200", nil, mine, found{jobgc.Active, jobgc.ByLiveRead, 1}},
		"NotSynced":         {"An informer before its first list.", jobgc.Options{Trust: true}, ref, "", nil, mine, found{jobgc.Active, jobgc.ByLiveRead, 1}},
		"NotSyncedGone":     {"Trust needs a version.", jobgc.Options{Trust: true}, ref, "", nil, nil, found{jobgc.Missing, jobgc.ByLiveRead, 1}},
		"OpaqueStore":       {"A version that is no number compares with nothing.", jobgc.Options{Trust: true}, ref, "v1:abc", nil, mine, found{jobgc.Active, jobgc.ByLiveRead, 1}},
		"OpaqueRef": {
			"Nor does such a Ref.",
			jobgc.Options{Trust: true},
			with(func(r *jobgc.Ref) { r.ResourceVersion = "abc" }), "200", nil, mine,
			found{jobgc.Active, jobgc.ByLiveRead, 1},
		},
		"NameAndUIDAlone": {
			"A schema that prunes the rest costs a read, not the answer.",
			jobgc.Options{Trust: true},
			jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"},
			"200", nil, nil,
			found{jobgc.Missing, jobgc.ByLiveRead, 1},
		},
		"Intent": {"No uid, no question.", jobgc.Options{}, jobgc.Ref{Namespace: "ns", Name: "job"}, "200", mine, mine, found{jobgc.NotCreated, jobgc.ByRef, 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.opts)
			w.store.version, w.store.items = tc.version, map[string]any{}
			if tc.cached != nil {
				w.store.items["ns/job"] = tc.cached
			}
			if tc.live != nil {
				w.jobs["job"] = tc.live
			}
			f := w.look(t, tc.ref)
			assert.Equal(t, tc.want, found{f.State, f.Proof, w.gets}, tc.reason)
			assert.Equal(t, f.State == jobgc.Pending, f.After > 0, "only Pending says when")
		})
	}
}

// Without a store, and with one that does not know its version, doubts cost a read each.
func TestGuardLookWithoutVersions(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	for name, store := range map[string]interface {
		GetByKey(key string) (any, bool, error)
	}{"None": nil, "NilPointer": (*fakeStore)(nil), "OldClientGo": oldStore{w.store}} {
		t.Run(name, func(t *testing.T) {
			g, err := jobgc.New(w.client, store, jobgc.Options{Trust: true})
			require.NoError(t, err)
			w.gets = 0
			f, err := g.Look(t.Context(), ref)
			require.NoError(t, err)
			assert.Equal(t, jobgc.Active, f.State)
			assert.Equal(t, jobgc.ByLiveRead, f.Proof)
			assert.Equal(t, 1, w.gets)
		})
	}
}

// The store of client-go itself: its version comes with the first list.
func TestGuardLookWithClientGoStore(t *testing.T) {
	s := newServer()
	s.version = 41
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	if _, ok := any(store).(interface{ LastStoreSyncResourceVersion() string }); !ok {
		t.Log("this client-go has no version of the store: live reads are expected")
	}
	g, err := jobgc.New(s.client, store, jobgc.Options{Trust: true})
	require.NoError(t, err)
	ref, err := g.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
	require.NoError(t, err)
	require.NoError(t, store.Add(s.jobs["job"]))
	f, err := g.Look(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Active, f.State)
	assert.Equal(t, jobgc.BySight, f.Proof)
	require.NoError(t, store.Replace(nil, "50"))
	s.remove("job")
	f, err = g.Look(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State)
}

func TestGuardLookBadInput(t *testing.T) {
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "1"}
	_, err := jobgc.New[fakeJobs](nil, nil, jobgc.Options{})
	require.ErrorContains(t, err, "client is nil")

	w := newWorld(t, jobgc.Options{})
	_, err = w.guard.Look(t.Context(), jobgc.Ref{Name: "job", UID: "mine"})
	require.ErrorContains(t, err, "ref.namespace is empty")
	_, err = w.guard.Look(t.Context(), jobgc.Ref{Namespace: "ns", UID: "mine"})
	require.ErrorContains(t, err, "ref.name is empty")

	w.store.items["ns/job"] = &corev1.Pod{}
	_, err = w.guard.Look(t.Context(), ref)
	require.ErrorContains(t, err, "*v1.Pod", "a store of other objects would make every Job missing")
	w.store.items["ns/job"] = &batchv1.Job{}
	_, err = w.guard.Look(t.Context(), ref)
	require.ErrorContains(t, err, "ns/job: the store holds a Job without a uid")
	w.store.items["ns/job"] = nil
	_, err = w.guard.Look(t.Context(), ref)
	require.ErrorContains(t, err, "ns/job")
	w.store.items["ns/job"] = (*batchv1.Job)(nil)
	_, err = w.guard.Look(t.Context(), ref)
	require.ErrorContains(t, err, "ns/job")
	w.store.err = errors.New("disk on fire")
	_, err = w.guard.Look(t.Context(), ref)
	require.ErrorIs(t, err, w.store.err)

	none, err := jobgc.New(func(string) jobgc.Jobs { return nil }, nil, jobgc.Options{})
	require.NoError(t, err)
	_, err = none.Look(t.Context(), ref)
	require.ErrorContains(t, err, "client is nil")
	_, err = none.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
	require.ErrorContains(t, err, "namespace ns is nil")
}

// When more Jobs vanish at once than the Guard keeps in mind, every one of them is declared lost in the end, however
// slowly the looks come.
func TestGuardLookManyJobsVanish(t *testing.T) {
	for pause, keep := range map[time.Duration]int{time.Millisecond: 8, 100 * time.Millisecond: 1, 3 * time.Second: 8} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Tombstones: keep})
			w.guard.OnAdd(nil, true)
			w.store.version = "100"
			lost := map[types.UID]bool{}
			for range 400 {
				for i := range 100 {
					uid := types.UID(fmt.Sprint(i))
					if lost[uid] {
						continue
					}
					f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: uid, ResourceVersion: "1"})
					lost[uid] = f.Lost()
					time.Sleep(pause)
				}
			}
			for uid, is := range lost {
				assert.True(t, is, uid)
			}
		})
	}
}

// Only while it lasts: when those that are kept in mind are a minute old, the next Job gets its second again.
func TestGuardLookAfterManyJobsVanished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{Tombstones: 1})
		w.guard.OnAdd(nil, true)
		w.store.version = "100"
		look := func(uid types.UID) jobgc.State {
			return w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: uid, ResourceVersion: "1"}).State
		}
		assert.Equal(t, jobgc.Pending, look("first"))
		assert.Equal(t, jobgc.Missing, look("one-too-many"))
		time.Sleep(time.Minute)
		assert.Equal(t, jobgc.Pending, look("next"))
	})
}

// All methods at once, for the race detector.
func TestGuardConcurrently(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	done := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "7"}}
	finish(time.Now())(done)
	g, err := jobgc.New(func(string) fakeJobs {
		return fakeJobs{get: func(name string) (*batchv1.Job, error) {
			job := done.DeepCopy()
			job.Name = name
			return job, nil
		}}
	}, store, jobgc.Options{Tombstones: 2})
	require.NoError(t, err)
	var wg sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		wg.Go(func() {
			for n := range 200 {
				job := done.DeepCopy()
				job.UID, job.Name = types.UID(fmt.Sprint(i, n)), fmt.Sprint("job", n%5)
				added := store.Add(job)
				g.OnAdd(job, false)
				_, err := g.Look(t.Context(), jobgc.Ref{Namespace: "ns", Name: job.Name, UID: job.UID, ResourceVersion: "7"})
				failed[i] = errors.Join(failed[i], added, err, store.Delete(job))
				g.OnUpdate(nil, job)
				g.OnDelete(job)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(failed...))
}
