// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

const annotation = "jobgc.controllerkit.dev/retention"

func TestEnsureCreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{Retention: jobgc.Retention{Succeeded: new(10 * time.Minute)}})
		job, before := ownedJob(), ownedJob()
		time.Sleep(1500 * time.Millisecond)
		ref, err := w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, job)
		require.NoError(t, err)
		created := w.jobs["job"]
		assert.Equal(t, jobgc.Ref{
			Namespace: "ns", Name: "job", UID: created.UID, ResourceVersion: created.ResourceVersion, CreatedAt: ref.CreatedAt,
		}, ref)
		assert.Equal(t, time.Now().Truncate(time.Second), ref.CreatedAt.Time, "whole seconds, as JSON keeps them")
		assert.Equal(t, "ns", created.Namespace)
		assert.Equal(t, int32(604800), *created.Spec.TTLSecondsAfterFinished)
		assert.Equal(t, "succeeded=10m0s failed=keep backstop=168h0m0s runs=keep logs=keep", created.Annotations[annotation])
		assert.Equal(t, before, job, "the caller's Job is not changed")
	})
}

// A TTL that could delete a Job before its result is recorded is never created.
func TestEnsureTTL(t *testing.T) {
	cases := map[string]struct {
		reason   string
		template *int32
		backstop time.Duration
		want     *int32
	}{
		"None":            {"The backstop.", nil, 0, new(int32(604800))},
		"Zero":            {"A TTL of 0 leaves 0.1 s to read the result.", new(int32(0)), 0, new(int32(604800))},
		"Shorter":         {"A shorter one is replaced.", new(int32(600)), time.Hour, new(int32(3600))},
		"Longer":          {"A longer one does no harm.", new(int32(7200)), time.Hour, new(int32(7200))},
		"NoBackstop":      {"None at all.", nil, -1, nil},
		"ShorterThanNone": {"Any TTL is shorter than none.", new(int32(7200)), -1, nil},
		"Negative":        {"Invalid ones are replaced as well.", new(int32(-5)), time.Hour, new(int32(3600))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{Retention: jobgc.Retention{Backstop: tc.backstop}})
			job := ownedJob()
			job.Spec.TTLSecondsAfterFinished = tc.template
			_, err := w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, job)
			require.NoError(t, err)
			assert.Equal(t, tc.want, w.jobs["job"].Spec.TTLSecondsAfterFinished, tc.reason)
			assert.Equal(t, tc.template, job.Spec.TTLSecondsAfterFinished)
		})
	}
}

func TestEnsureKeepsTheRunsOwnRetention(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := ownedJob()
	keep, err := jobgc.Retention{}.For(new(int32(60)))
	require.NoError(t, err)
	keep.Annotate(job)
	_, err = w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, job)
	require.NoError(t, err)
	assert.Equal(t, keep.String(), w.jobs["job"].Annotations[annotation])
}

// A Job that was created once is never created again, whatever became of it.
// A Job that is made from the manifest of one that was released is not released yet.
func TestEnsureIsNotReleased(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := ownedJob()
	job.Annotations = map[string]string{"jobgc.controllerkit.dev/released": "2026-03-01T12:00:00Z"}
	_, err := w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, job)
	require.NoError(t, err)
	assert.NotContains(t, w.jobs["job"].Annotations, "jobgc.controllerkit.dev/released")
	assert.Contains(t, job.Annotations, "jobgc.controllerkit.dev/released", "the caller's Job is not changed")
}

func TestEnsureWithUIDDoesNothing(t *testing.T) {
	g, err := jobgc.New(func(string) fakeJobs { return fakeJobs{} }, nil, jobgc.Options{})
	require.NoError(t, err)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "lost", Outcome: jobgc.Failed, Released: true}
	got, err := g.Ensure(t.Context(), ref, ownedJob())
	require.NoError(t, err)
	assert.Equal(t, ref, got)
}

func TestEnsureWhenTheNameIsTaken(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ours, recreated, foreign := ownerRef("run", "run-uid"), ownerRef("run", "run-uid-of-before"), ownerRef("another", "x")
	mereOwner := ownerRef("run", "run-uid")
	mereOwner.Controller = nil
	cases := map[string]struct {
		reason   string
		owners   []metav1.OwnerReference
		deleting bool
		finished bool
		want     error
	}{
		"Ours":                 {"An attempt of before.", []metav1.OwnerReference{ours}, false, false, nil},
		"OursFinished":         {"An attempt of before that is done.", []metav1.OwnerReference{ours}, false, true, nil},
		"OursDeleting":         {"It was killed; its name is free soon.", []metav1.OwnerReference{ours}, true, false, jobgc.ErrTerminating},
		"OursDeletingFinished": {"Its outcome is known: run again it would run twice.", []metav1.OwnerReference{ours}, true, true, nil},
		"Foreign":              {"Another's.", []metav1.OwnerReference{foreign}, false, true, jobgc.ErrNotOurs},
		"ForeignDeleting":      {"Another's, and soon gone.", []metav1.OwnerReference{foreign}, true, true, jobgc.ErrTerminating},
		"Nobody's":             {"A Job made by hand.", nil, false, false, jobgc.ErrNotOurs},
		"MereOwner":            {"An owner that does not control it did not create it.", []metav1.OwnerReference{mereOwner}, false, false, jobgc.ErrNotOurs},
		"PredecessorRun": {
			"A run of the same name was deleted and made anew: its Job must not be adopted, and the garbage collector is about to take it.",
			[]metav1.OwnerReference{recreated},
			false, true, jobgc.ErrTerminating,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "there", OwnerReferences: tc.owners}}
			if tc.finished {
				finish(at)(job)
			}
			if tc.deleting {
				job.DeletionTimestamp = new(metav1.NewTime(at))
			}
			w.put(job)
			ref, err := w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want, tc.reason)
				assert.Empty(t, ref.UID)
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Equal(t, job.UID, ref.UID)
			assert.Equal(t, 1, w.creates)
			assert.Equal(t, 1, w.gets)
		})
	}
}

// The Job that has the name may vanish between the two answers, but not for ever.
func TestEnsureWhenTheJobVanishes(t *testing.T) {
	exists := apierrors.NewAlreadyExists(jobResource, "job")
	for vanishes, want := range map[int]error{1: nil, 2: nil, 3: jobgc.ErrTerminating, 100: jobgc.ErrTerminating} {
		creates := 0
		g, err := jobgc.New(func(string) fakeJobs {
			return fakeJobs{
				create: func(j *batchv1.Job) (*batchv1.Job, error) {
					if creates++; creates <= vanishes {
						return nil, exists
					}
					j = j.DeepCopy()
					j.UID = "new"
					return j, nil
				},
				get: func(string) (*batchv1.Job, error) { return nil, notFound("job") },
			}
		}, nil, jobgc.Options{})
		require.NoError(t, err)
		_, err = g.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
		require.ErrorIs(t, err, want)
		assert.LessOrEqual(t, creates, 3)
		if want != nil {
			require.ErrorContains(t, err, exists.Error(), "who says so, lest it is no API server")
		}
	}
}

func TestEnsureFails(t *testing.T) {
	refusal := apierrors.NewForbidden(jobResource, "job", errors.New("namespace is terminating"))
	exists, another := apierrors.NewAlreadyExists(jobResource, "job"), notFoundOf("", "namespaces", "ns")
	cases := map[string]struct {
		reason string
		fake   fakeJobs
		want   error
	}{
		"Create": {"The API server's refusal.", fakeJobs{create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, refusal }}, refusal},
		"Get": {"Whose it is cannot be told.", fakeJobs{
			create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, exists },
			get:    func(string) (*batchv1.Job, error) { return nil, refusal },
		}, refusal},
		"Another404": {"A 404 about something else does not mean that the Job vanished.", fakeJobs{
			create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, exists },
			get:    func(string) (*batchv1.Job, error) { return nil, another },
		}, another},
		"NoJob": {"A client that says nothing.", fakeJobs{create: func(*batchv1.Job) (job *batchv1.Job, err error) { return job, err }}, nil},
		"NoJobAdopted": {"A client that says nothing.", fakeJobs{
			create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, exists },
			get:    func(string) (job *batchv1.Job, err error) { return job, err },
		}, nil},
		"NoUID": {"Such a Ref would mean that nothing was created.", fakeJobs{create: func(j *batchv1.Job) (*batchv1.Job, error) { return j, nil }}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g, err := jobgc.New(func(string) fakeJobs { return tc.fake }, nil, jobgc.Options{})
			require.NoError(t, err)
			ref, err := g.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
			require.ErrorContains(t, err, "ns/job", tc.reason)
			assert.Empty(t, ref.UID)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
			}
		})
	}
}

func TestEnsureBadInput(t *testing.T) {
	edit := func(f func(*batchv1.Job)) *batchv1.Job {
		job := ownedJob()
		f(job)
		return job
	}
	ref := jobgc.Ref{Namespace: "ns", Name: "job"}
	cases := map[string]struct {
		ref   jobgc.Ref
		job   *batchv1.Job
		names string
	}{
		"NoJob":           {ref, nil, "job is nil"},
		"NoName":          {jobgc.Ref{Namespace: "ns"}, ownedJob(), "ref.name"},
		"OtherName":       {ref, edit(func(j *batchv1.Job) { j.Name = "other" }), "metadata.name"},
		"GenerateName":    {ref, edit(func(j *batchv1.Job) { j.Name, j.GenerateName = "", "job-" }), "metadata.name"},
		"NoNamespace":     {jobgc.Ref{Name: "job"}, ownedJob(), "namespace"},
		"OtherNamespace":  {ref, edit(func(j *batchv1.Job) { j.Namespace = "other" }), "metadata.namespace"},
		"NoOwner":         {ref, edit(func(j *batchv1.Job) { j.OwnerReferences = nil }), "ownerReferences"},
		"NoController":    {ref, edit(func(j *batchv1.Job) { j.OwnerReferences[0].Controller = new(false) }), "ownerReferences"},
		"ControllerNoUID": {ref, edit(func(j *batchv1.Job) { j.OwnerReferences[0].UID = "" }), "no uid"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			got, err := w.guard.Ensure(t.Context(), tc.ref, tc.job)
			require.ErrorContains(t, err, tc.names)
			assert.Equal(t, tc.ref, got)
			assert.Zero(t, w.creates)
		})
	}
}

func TestEnsureTakesTheNamespaceOfTheJob(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := ownedJob()
	job.Namespace = "ns"
	ref, err := w.guard.Ensure(t.Context(), jobgc.Ref{Name: "job"}, job)
	require.NoError(t, err)
	assert.Equal(t, "ns", ref.Namespace)
}

func TestRefAsStatus(t *testing.T) {
	data, err := json.Marshal(jobgc.Ref{Name: "job"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"job"}`, string(data), "an intent is a name; server-side apply refuses a null time")

	full := jobgc.Ref{
		Namespace: "ns", Name: "job", UID: "uid", ResourceVersion: "7", CreatedAt: new(metav1.NewTime(time.Unix(1, 0))),
		Outcome: jobgc.Succeeded, Released: true,
	}
	data, err = json.Marshal(full)
	require.NoError(t, err)
	var back jobgc.Ref
	require.NoError(t, json.Unmarshal(data, &back))
	assert.True(t, full.CreatedAt.Equal(back.CreatedAt))
	back.CreatedAt = full.CreatedAt
	assert.Equal(t, full, back)

	c := full.DeepCopy()
	assert.Equal(t, full, *c)
	assert.NotSame(t, full.CreatedAt, c.CreatedAt)
	assert.Nil(t, (*jobgc.Ref)(nil).DeepCopy())
	assert.Equal(t, jobgc.Ref{Name: "x"}, *(&jobgc.Ref{Name: "x"}).DeepCopy())
}
