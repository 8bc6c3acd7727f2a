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

	"github.com/proompteng/controllerkit/jobgc"
)

const hold = "agents.example.com/result"

func TestHoldBadInput(t *testing.T) {
	cases := map[string]struct {
		reason, name string
	}{
		"NoDomain":   {"The API server takes only finalizers of Kubernetes without one.", "result"},
		"Kubernetes": {"That one means something else.", "foregroundDeletion"},
		"NoName":     {"The API server would refuse each Job.", "agents.example.com/"},
		"BadDomain":  {"The API server would refuse each Job.", "Agents_/result"},
		"Slashes":    {"The API server would refuse each Job.", "a/b/c"},
		"Long":       {"The API server would refuse each Job.", "a.example.com/" + strings.Repeat("x", 64)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := jobgc.New(newServer().client, nil, jobgc.Options{Hold: tc.name})
			require.ErrorContains(t, err, "jobgc: new: options.hold: ", tc.reason)
			require.ErrorContains(t, err, tc.name)
			require.ErrorContains(t, err, "want a domain and a name, such as agents.example.com/result")
		})
	}
}

func TestEnsureHolds(t *testing.T) {
	cases := map[string]struct {
		reason     string
		finalizers []string
		want       []string
	}{
		"None":   {"At the creation, or never.", nil, []string{hold}},
		"Others": {"Those of others stay.", []string{"example.com/theirs"}, []string{"example.com/theirs", hold}},
		"Ours":   {"Once is enough.", []string{hold}, []string{hold}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Hold: hold})
			job := ownedJob()
			job.Finalizers = tc.finalizers
			before := job.DeepCopy()
			_, err := w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, job)
			require.NoError(t, err)
			assert.Equal(t, tc.want, w.jobs["job"].Finalizers, tc.reason)
			assert.Equal(t, before, job, "the caller's Job is not changed")
		})
	}
}

func TestEnsureAdoptsWhatOnlyItsRefCanRelease(t *testing.T) {
	cases := map[string]struct {
		reason     string
		owner      metav1.OwnerReference
		finalizers []string
		want       error
	}{
		"OursHeld":        {"Nobody else ever takes the hold off: it would be waited for in vain.", ownerRef("run", "run-uid"), []string{hold}, nil},
		"OursHeldByOther": {"Somebody else's finalizer is somebody else's to release.", ownerRef("run", "run-uid"), []string{"example.com/theirs"}, jobgc.ErrTerminating},
		"PredecessorHeld": {"The sweep finds that its owner is gone.", ownerRef("run", "run-uid-of-before"), []string{hold}, jobgc.ErrTerminating},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Hold: hold})
			w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{
				Name: "job", UID: "there", OwnerReferences: []metav1.OwnerReference{tc.owner}, Finalizers: tc.finalizers, DeletionTimestamp: new(metav1.Now()),
			}})
			ref, err := w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
			require.ErrorIs(t, err, tc.want, tc.reason)
			if tc.want != nil {
				return
			}
			w.store.sync(w.server)
			f := w.look(t, ref)
			require.Equal(t, jobgc.Deleting, f.State)
			require.NoError(t, w.guard.Release(t.Context(), ref, f, jobgc.Retention{}))
			assert.Empty(t, w.jobs, "it is gone at last")
		})
	}
}

func TestReleaseHeld(t *testing.T) {
	hour := time.Hour
	gone := func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) }
	cases := map[string]struct {
		reason  string
		edit    func(*batchv1.Job) // of a Job that has just finished
		stays   bool
		ttl     int32
		has     []string
		patches int
	}{
		"Usual":   {"TTL and hold in one patch.", func(*batchv1.Job) {}, true, 3600, []string{}, 1},
		"Deleted": {"A deletion that has begun takes no TTL.", gone, false, 0, nil, 1},
		"OthersBefore": {
			"Only ours goes.", func(j *batchv1.Job) { j.Finalizers = []string{"a.example.com/a", hold, "b.example.com/b"} },
			true, 3600,
			[]string{"a.example.com/a", "b.example.com/b"},
			1,
		},
		"DeletedAndHeldByOthers": {"They are waited for.", func(j *batchv1.Job) {
			gone(j)
			j.Finalizers = []string{"foregroundDeletion", hold}
		}, true, 604800, []string{"foregroundDeletion"}, 1},
		"ReleasedButHeld": {"The hold still counts.", func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = new(int32(3600))
			j.Annotations["jobgc.controllerkit.dev/released"] = "2026-03-01T12:00:00Z"
		}, true, 3600, []string{}, 1},
		"Released": {"Nothing is left to do.", func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = new(int32(3600))
			j.Annotations["jobgc.controllerkit.dev/released"] = "2026-03-01T12:00:00Z"
			j.Finalizers = []string{}
		}, true, 3600, []string{}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, jobgc.Options{Hold: hold})
				ref := w.ensured(t)
				w.change("job", func(j *batchv1.Job) { finish(time.Now())(j); tc.edit(j) })
				w.store.sync(w.server)
				f := w.look(t, ref)
				require.ErrorContains(t, w.guard.Release(t.Context(), ref, f, jobgc.Retention{Succeeded: &hour}), "ref.outcome is empty", "held until recorded")
				ref.Outcome = f.Outcome
				require.NoError(t, w.guard.Release(t.Context(), ref, f, jobgc.Retention{Succeeded: &hour}))
				assert.Equal(t, tc.patches, w.patches, tc.reason)
				job := w.jobs["job"]
				require.Equal(t, tc.stays, job != nil, tc.reason)
				if job == nil {
					return
				}
				assert.Equal(t, tc.has, job.Finalizers, tc.reason)
				assert.Equal(t, tc.ttl, *job.Spec.TTLSecondsAfterFinished, tc.reason)
				w.store.sync(w.server)
				require.NoError(t, w.guard.Release(t.Context(), ref, w.look(t, ref), jobgc.Retention{Succeeded: &hour}))
				assert.Equal(t, tc.patches, w.patches, "once is enough")
				assert.Zero(t, w.gets)
			})
		})
	}
}

// The cache is behind: another finalizer came or went, and ours stands elsewhere by now.
func TestReleaseHeldWithAStaleCache(t *testing.T) {
	cases := map[string]struct {
		reason     string
		finalizers []string
		patches    int
	}{
		"Moved":    {"It is looked for, and taken off there.", []string{"a.example.com/a", hold}, 2},
		"TakenOff": {"Another replica did it; the rest of the patch is still to be done.", []string{"a.example.com/a"}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Hold: hold})
			ref := w.ensured(t)
			w.change("job", finish(time.Now()))
			w.store.sync(w.server)
			f := w.look(t, ref)
			ref.Outcome = f.Outcome
			w.change("job", func(j *batchv1.Job) { j.Finalizers = tc.finalizers })
			require.NoError(t, w.guard.Release(t.Context(), ref, f, jobgc.Retention{Succeeded: new(time.Duration(0))}))
			assert.Equal(t, []string{"a.example.com/a"}, w.jobs["job"].Finalizers, tc.reason)
			assert.Equal(t, tc.patches, w.patches, tc.reason)
			assert.Zero(t, *w.jobs["job"].Spec.TTLSecondsAfterFinished)
			assert.Equal(t, 1, w.gets)
		})
	}
}

// Somebody moves the finalizers about faster than we look: it is given up, and the next reconcile tries again.
func TestReleaseHeldGivesUp(t *testing.T) {
	w := newWorld(t, jobgc.Options{Hold: hold})
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
	}, w.store, jobgc.Options{Hold: hold})
	require.NoError(t, err)
	require.ErrorContains(t, g.Release(t.Context(), ref, f, jobgc.Retention{}), "jobgc: release: ns/job: ")
	assert.Equal(t, 3, patches)
}

// Without the option a finalizer of that name is nobody's, and a Guard with it leaves Jobs alone that were made without.
func TestReleaseWithoutHold(t *testing.T) {
	for name, opts := range map[string][2]jobgc.Options{"NotOurs": {{Hold: hold}, {}}, "MadeBefore": {{}, {Hold: hold}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, opts[0])
			ref := w.ensured(t)
			has := w.jobs["job"].Finalizers
			w.change("job", finish(time.Now()))
			w.guard = newGuard(t, w, opts[1])
			w.store.sync(w.server)
			ref.Outcome = jobgc.Succeeded
			require.NoError(t, w.guard.Release(t.Context(), ref, w.look(t, ref), jobgc.Retention{Succeeded: new(time.Minute)}))
			assert.Equal(t, has, w.jobs["job"].Finalizers)
			assert.Equal(t, 1, w.patches)
		})
	}
}
