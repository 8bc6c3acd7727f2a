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
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestGuardInspect(t *testing.T) {
	now := metav1.Now()
	mine := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "100"}}
	other := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "other"}}
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "100", CreatedAt: &now}
	with := func(edit func(*jobgc.Ref)) jobgc.Ref {
		r := ref
		edit(&r)
		return r
	}
	old := with(func(r *jobgc.Ref) { r.CreatedAt = ptr.To(metav1.NewTime(now.Add(-time.Hour))) })
	recorded := with(func(r *jobgc.Ref) { r.Outcome = jobgc.Failed })
	type found struct {
		State jobgc.State
		Proof string
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
		"Cached":            {"A Job in the cache needs no live read.", jobgc.Options{}, ref, "100", mine, mine, found{jobgc.Active, "Seen", 0}},
		"CachedAndGone":     {"The cached Job counts until the delete event arrives.", jobgc.Options{}, ref, "100", mine, nil, found{jobgc.Active, "Seen", 0}},
		"AtCreation":        {"A store at exactly that version has seen the creation.", jobgc.Options{TrustCache: true}, ref, "100", nil, nil, found{jobgc.Missing, "CachePastCreate", 0}},
		"Behind":            {"The store has not seen the creation yet.", jobgc.Options{}, ref, "99", nil, mine, found{jobgc.Pending, "CacheBehind", 0}},
		"BehindByDigits":    {"Versions are numbers, not text.", jobgc.Options{}, ref, "99", nil, mine, found{jobgc.Pending, "CacheBehind", 0}},
		"PastByDigits":      {"1000 is past 100.", jobgc.Options{TrustCache: true}, ref, "1000", nil, mine, found{jobgc.Missing, "CachePastCreate", 0}},
		"BehindGraceOver":   {"After CacheLagTimeout, a live read finds the Job.", jobgc.Options{}, old, "99", nil, mine, found{jobgc.Active, "LiveRead", 1}},
		"BehindNoGrace":     {"A negative timeout reads immediately.", jobgc.Options{CacheLagTimeout: -1}, ref, "99", nil, mine, found{jobgc.Active, "LiveRead", 1}},
		"BehindLongerGrace": {"CacheLagTimeout may be longer than the default.", jobgc.Options{CacheLagTimeout: 2 * time.Hour}, old, "99", nil, mine, found{jobgc.Pending, "CacheBehind", 0}},
		"BehindLongestGrace": {
			"The longest duration must not overflow the sum.",
			jobgc.Options{CacheLagTimeout: math.MaxInt64},
			old, "99", nil, mine,
			found{jobgc.Pending, "CacheBehind", 0},
		},
		"BehindAndClockOff": {
			"A creation in the future must not make a Job pending for an hour.",
			jobgc.Options{},
			with(func(r *jobgc.Ref) { r.CreatedAt = ptr.To(metav1.NewTime(now.Add(time.Hour))) }), "99", nil, mine,
			found{jobgc.Active, "LiveRead", 1},
		},
		"BehindCreatedAtPruned": {
			"Without CreatedAt there is no grace period.",
			jobgc.Options{},
			with(func(r *jobgc.Ref) { r.CreatedAt = nil }), "99", nil, mine,
			found{jobgc.Active, "LiveRead", 1},
		},
		"BehindAndGone":     {"After CacheLagTimeout, a live read proves the loss.", jobgc.Options{}, old, "99", nil, nil, found{jobgc.Missing, "LiveRead", 1}},
		"BehindPredecessor": {"An old Job of that name is still cached.", jobgc.Options{TrustCache: true}, ref, "99", other, mine, found{jobgc.Pending, "CacheBehind", 0}},
		"Gone":              {"One live read confirms the loss.", jobgc.Options{}, ref, "200", nil, nil, found{jobgc.Missing, "LiveRead", 1}},
		"GoneTrusted":       {"With TrustCache, the cache alone proves the loss.", jobgc.Options{TrustCache: true}, ref, "200", nil, nil, found{jobgc.Missing, "CachePastCreate", 0}},
		"GoneRecorded":      {"A recorded outcome is not a loss, so no read confirms it.", jobgc.Options{}, recorded, "200", nil, nil, found{jobgc.Collected, "CachePastCreate", 0}},
		"Replaced":          {"One live read confirms the loss.", jobgc.Options{}, ref, "200", other, other, found{jobgc.Replaced, "LiveRead", 1}},
		"ReplacedTrusted":   {"With TrustCache, the cache alone proves the loss.", jobgc.Options{TrustCache: true}, ref, "200", other, other, found{jobgc.Replaced, "CachePastCreate", 0}},
		"ReplacedRecorded":  {"A successor is not a loss once the outcome is recorded.", jobgc.Options{}, recorded, "200", other, other, found{jobgc.Collected, "CachePastCreate", 0}},
		"FilteredInformer":  {"A filtered store never has the Job at any version; the live read finds it.", jobgc.Options{}, ref, "200", nil, mine, found{jobgc.Active, "LiveRead", 1}},
		"NotSynced":         {"Before the first list, only a live read can tell.", jobgc.Options{TrustCache: true}, ref, "", nil, mine, found{jobgc.Active, "LiveRead", 1}},
		"NotSyncedGone":     {"Without a version, TrustCache does not apply.", jobgc.Options{TrustCache: true}, ref, "", nil, nil, found{jobgc.Missing, "LiveRead", 1}},
		"OpaqueStore":       {"A version that is not a number cannot be compared.", jobgc.Options{TrustCache: true}, ref, "v1:abc", nil, mine, found{jobgc.Active, "LiveRead", 1}},
		"OpaqueRef": {
			"A Ref with such a version cannot be compared either.",
			jobgc.Options{TrustCache: true},
			with(func(r *jobgc.Ref) { r.ResourceVersion = "abc" }), "200", nil, mine,
			found{jobgc.Active, "LiveRead", 1},
		},
		"NameAndUIDAlone": {
			"If the schema prunes the other fields, a live read still answers.",
			jobgc.Options{TrustCache: true},
			jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"},
			"200", nil, nil,
			found{jobgc.Missing, "LiveRead", 1},
		},
		"Intent": {"Without a uid, nothing is read.", jobgc.Options{}, jobgc.Ref{Namespace: "ns", Name: "job"}, "200", mine, mine, found{jobgc.NotCreated, "Ref", 0}},
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
			assert.Equal(t, tc.want, found{f.State, f.Source, w.gets}, tc.reason)
			assert.Equal(t, f.State == jobgc.Pending || f.State == jobgc.Active && f.Source == "LiveRead", f.After > 0, "where no event says when")
		})
	}
}

// Without a store, or with a store that does not know its version, each doubt
// costs a live read.
func TestGuardInspectWithoutVersions(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	for name, store := range map[string]interface {
		GetByKey(key string) (any, bool, error)
	}{"None": nil, "NilPointer": (*fakeStore)(nil), "OldClientGo": oldStore{w.store}} {
		t.Run(name, func(t *testing.T) {
			g, err := jobgc.New(w.client, store, jobgc.Options{TrustCache: true})
			require.NoError(t, err)
			w.gets = 0
			f, err := g.Inspect(t.Context(), ref)
			require.NoError(t, err)
			assert.Equal(t, jobgc.Active, f.State)
			assert.Equal(t, "LiveRead", f.Source)
			assert.Equal(t, 1, w.gets)
		})
	}
}

// The store of client-go itself: since v0.36 it tells its version, which comes
// with the first list, and proves without a request that a Job is gone. Before,
// a live read proves it.
func TestGuardInspectWithClientGoStore(t *testing.T) {
	s := newServer()
	s.version = 41
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	source, reads := "LiveRead", 1
	if _, ok := any(store).(interface{ LastStoreSyncResourceVersion() string }); ok {
		source, reads = "CachePastCreate", 0
	}
	g, err := jobgc.New(s.client, store, jobgc.Options{TrustCache: true})
	require.NoError(t, err)
	ref, err := ensure(t.Context(), g, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
	require.NoError(t, err)
	require.NoError(t, store.Add(s.jobs["job"]))
	f, err := g.Inspect(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Active, f.State)
	assert.Equal(t, "Seen", f.Source)
	require.NoError(t, store.Replace(nil, "50"))
	s.remove("job")
	before := s.gets
	f, err = g.Inspect(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State)
	assert.Equal(t, source, f.Source)
	assert.Equal(t, reads, s.gets-before)
}

func TestGuardInspectBadInput(t *testing.T) {
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "1"}
	_, err := jobgc.New[fakeJobs](nil, nil, jobgc.Options{})
	require.ErrorContains(t, err, "client is nil")

	w := newWorld(t, jobgc.Options{})
	_, err = w.guard.Inspect(t.Context(), jobgc.Ref{Name: "job", UID: "mine"})
	require.ErrorContains(t, err, "jobgc: inspect: Ref.Namespace is empty; set the namespace of the Job")
	_, err = w.guard.Inspect(t.Context(), jobgc.Ref{Namespace: "ns", UID: "mine"})
	require.ErrorContains(t, err, "jobgc: inspect: Ref.Name is empty; set the name of the Job")

	w.store.items["ns/job"] = &corev1.Pod{}
	_, err = w.guard.Inspect(t.Context(), ref)
	require.ErrorContains(t, err, "*v1.Pod", "a store of other objects would make every Job missing")
	w.store.items["ns/job"] = &batchv1.Job{}
	_, err = w.guard.Inspect(t.Context(), ref)
	require.ErrorContains(t, err, "ns/job: the store holds a Job without a uid")
	w.store.items["ns/job"] = nil
	_, err = w.guard.Inspect(t.Context(), ref)
	require.ErrorContains(t, err, "ns/job")
	w.store.items["ns/job"] = (*batchv1.Job)(nil)
	_, err = w.guard.Inspect(t.Context(), ref)
	require.ErrorContains(t, err, "ns/job")
	w.store.err = errors.New("disk on fire")
	_, err = w.guard.Inspect(t.Context(), ref)
	require.ErrorIs(t, err, w.store.err)

	none, err := jobgc.New(func(string) batchv1client.JobInterface { return nil }, nil, jobgc.Options{})
	require.NoError(t, err)
	_, err = none.Inspect(t.Context(), ref)
	require.EqualError(t, err, "jobgc: inspect: the client of namespace ns is nil; return one, such as clientset.BatchV1().Jobs(namespace)")
	_, err = ensure(t.Context(), none, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
	require.ErrorContains(t, err, "namespace ns is nil")
}

// When more Jobs are deleted together than the Guard remembers, each of them is
// declared lost in the end, even if the calls come slowly.
func TestGuardInspectManyJobsVanish(t *testing.T) {
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

// This holds only for a minute: when the remembered Jobs are a minute old, the
// next Job waits its second again.
func TestGuardInspectAfterManyJobsVanished(t *testing.T) {
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

// All methods run concurrently, to let the race detector find races.
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
				_, err := g.Inspect(t.Context(), jobgc.Ref{Namespace: "ns", Name: job.Name, UID: job.UID, ResourceVersion: "7"})
				failed[i] = errors.Join(failed[i], added, err, store.Delete(job))
				g.OnUpdate(nil, job)
				g.OnDelete(job)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(failed...))
}
