// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

const hold = "agents.example.com/result"

func TestHoldBadInput(t *testing.T) {
	cases := map[string]struct {
		reason, name string
	}{
		"NoDomain":   {"Without a domain, the API server accepts only finalizers of Kubernetes.", "result"},
		"Kubernetes": {"Kubernetes uses this finalizer.", "foregroundDeletion"},
		"NoName":     {"The API server would refuse each Job.", "agents.example.com/"},
		"BadDomain":  {"The API server would refuse each Job.", "Agents_/result"},
		"Slashes":    {"The API server would refuse each Job.", "a/b/c"},
		"Long":       {"The API server would refuse each Job.", "a.example.com/" + strings.Repeat("x", 64)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := jobgc.NewUncached(newServer().client, jobgc.Options{Finalizer: tc.name})
			require.ErrorContains(t, err, "jobgc: new: Options.Finalizer: ", tc.reason)
			require.ErrorContains(t, err, tc.name)
			require.ErrorContains(t, err, "want a domain and a name, such as agents.example.com/result")
		})
	}
}

func TestStepCreates_WithTheFinalizer(t *testing.T) {
	cases := map[string]struct {
		reason     string
		finalizers []string
		want       []string
	}{
		"None":   {"A finalizer can be added only at the creation.", nil, []string{hold}},
		"Others": {"Finalizers of other controllers stay.", []string{"example.com/theirs"}, []string{"example.com/theirs", hold}},
		"Ours":   {"The finalizer is not added twice.", []string{hold}, []string{hold}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Finalizer: hold})
			job := ownedJob()
			job.Finalizers = tc.finalizers
			before := job.DeepCopy()
			_, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, job)
			require.NoError(t, err)
			assert.Equal(t, tc.want, w.jobs["job"].Finalizers, tc.reason)
			assert.Equal(t, before, job, "the caller's Job is not changed")
		})
	}
}

func TestStepAdopts_WhatOnlyItsRefCanRelease(t *testing.T) {
	cases := map[string]struct {
		reason     string
		owner      metav1.OwnerReference
		finalizers []string
		want       string
	}{
		"OursHeld":        {"Only this controller removes the finalizer: without adoption the Job would stay.", ownerRef("run", "run-uid"), []string{hold}, ""},
		"PredecessorHeld": {"The sweep finds that its owner is gone.", ownerRef("run", "run-uid-of-before"), []string{hold}, "still being deleted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Finalizer: hold})
			w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{
				Name: "job", UID: "there", OwnerReferences: []metav1.OwnerReference{tc.owner}, Finalizers: tc.finalizers, DeletionTimestamp: ptr.To(metav1.Now()),
			}})
			ref, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want, tc.reason)
				return
			}
			require.NoError(t, err, tc.reason)
			w.store.sync(w.server)
			f := w.look(t, ref)
			require.Equal(t, jobgc.Deleting, f.State)
			require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{}))
			assert.Empty(t, w.jobs, "the release lets the deletion finish")
		})
	}
}

func TestReleaseHeld(t *testing.T) {
	hour := time.Hour
	gone := func(j *batchv1.Job) { j.DeletionTimestamp = ptr.To(metav1.Now()) }
	cases := map[string]struct {
		reason  string
		edit    func(*batchv1.Job) // of a Job that has just finished
		stays   bool
		ttl     int32
		has     []string
		patches int
	}{
		"Usual":   {"One patch sets the TTL and removes the finalizer.", func(*batchv1.Job) {}, true, 3600, []string{}, 1},
		"Deleted": {"A Job that is being deleted gets no TTL.", gone, false, 0, nil, 1},
		"OthersBefore": {
			"Only the finalizer of this controller is removed.", func(j *batchv1.Job) { j.Finalizers = []string{"a.example.com/a", hold, "b.example.com/b"} },
			true, 3600,
			[]string{"a.example.com/a", "b.example.com/b"},
			1,
		},
		"DeletedAndHeldByOthers": {"The Job waits for the other finalizers.", func(j *batchv1.Job) {
			gone(j)
			j.Finalizers = []string{"foregroundDeletion", hold}
		}, true, 604800, []string{"foregroundDeletion"}, 1},
		"ReleasedButHeld": {"The finalizer is removed although the annotation records a release.", func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](3600)
			j.Annotations["jobgc.controllerkit.dev/released"] = "2026-03-01T12:00:00Z"
		}, true, 3600, []string{}, 1},
		"Released": {"Nothing is left to do.", func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](3600)
			j.Annotations["jobgc.controllerkit.dev/released"] = "2026-03-01T12:00:00Z"
			j.Finalizers = []string{}
		}, true, 3600, []string{}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, jobgc.Options{Finalizer: hold, Retention: jobgc.Retention{UnrecordedTTL: week}})
				ref := w.ensured(t)
				w.change("job", func(j *batchv1.Job) { finish(time.Now())(j); tc.edit(j) })
				w.store.sync(w.server)
				f := w.look(t, ref)
				_, err := ensure(t.Context(), w.guard, ref, ownedJob())
				require.NoError(t, err)
				assert.Zero(t, w.patches, "held until recorded")
				ref.Outcome = f.Outcome
				require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: hour}))
				assert.Equal(t, tc.patches, w.patches, tc.reason)
				job := w.jobs["job"]
				require.Equal(t, tc.stays, job != nil, tc.reason)
				if job == nil {
					return
				}
				assert.Equal(t, tc.has, job.Finalizers, tc.reason)
				assert.Equal(t, tc.ttl, *job.Spec.TTLSecondsAfterFinished, tc.reason)
				w.store.sync(w.server)
				require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: hour}))
				assert.Equal(t, tc.patches, w.patches, "once is enough")
			})
		})
	}
}

// The cache is behind: another finalizer was added or removed, and the index of
// the controller's finalizer has changed.
func TestReleaseHeldWithAStaleCache(t *testing.T) {
	cases := map[string]struct {
		reason     string
		finalizers []string
		patches    int
	}{
		"Moved":    {"The finalizer is removed at its new index.", []string{"a.example.com/a", hold}, 2},
		"TakenOff": {"Another replica removed the finalizer; the TTL must still be set.", []string{"a.example.com/a"}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Finalizer: hold})
			ref := w.ensured(t)
			w.change("job", finish(time.Now()))
			w.store.sync(w.server)
			f := w.look(t, ref)
			ref.Outcome = f.Outcome
			w.change("job", func(j *batchv1.Job) { j.Finalizers = tc.finalizers })
			require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Minute}))
			assert.Equal(t, []string{"a.example.com/a"}, w.jobs["job"].Finalizers, tc.reason)
			assert.Equal(t, tc.patches, w.patches, tc.reason)
			assert.InDelta(t, 60, *w.jobs["job"].Spec.TTLSecondsAfterFinished, 30)
			assert.Equal(t, 1, w.gets)
		})
	}
}

// Another client reorders the finalizers before each patch: Release returns an
// error, and the next reconcile tries again.
func TestReleaseHeldGivesUp(t *testing.T) {
	w := newWorld(t, jobgc.Options{Finalizer: hold})
	ref := w.ensured(t)
	w.change("job", finish(time.Now()))
	w.store.sync(w.server)
	f, patches := w.look(t, ref), 0
	ref.Outcome = f.Outcome
	g, err := jobgc.New(func(string) fakeJobs {
		return fakeJobs{get: w.client("ns").get, patch: func(string, []byte) (*batchv1.Job, error) {
			patches++
			w.change("job", func(j *batchv1.Job) { j.Finalizers = append([]string{"a.example.com/a"}, j.Finalizers...) })
			return nil, invalid("job")
		}}
	}, w.store.get, w.store, jobgc.Options{Finalizer: hold})
	require.NoError(t, err)
	require.ErrorContains(t, release(t.Context(), g, ref, jobgc.Retention{}), "jobgc: step: release ns/job: ")
	assert.Equal(t, 3, patches)
}

// Without the option, Release leaves a finalizer of that name alone. A Guard
// with the option leaves Jobs alone that were created without it.
func TestReleaseWithoutHold(t *testing.T) {
	for name, opts := range map[string][2]jobgc.Options{"NotOurs": {{Finalizer: hold}, {}}, "MadeBefore": {{}, {Finalizer: hold}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, opts[0])
			ref := w.ensured(t)
			has := w.jobs["job"].Finalizers
			w.change("job", finish(time.Now()))
			w.guard = newGuard(t, w, opts[1])
			w.store.sync(w.server)
			ref.Outcome = jobgc.Succeeded
			require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Minute}))
			assert.Equal(t, has, w.jobs["job"].Finalizers)
			assert.Equal(t, 1, w.patches)
		})
	}
}
