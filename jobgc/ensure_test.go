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
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

const (
	annotation = "jobgc.controllerkit.dev/retention"
	week       = 7 * 24 * time.Hour
)

func TestEnsureCreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: 10 * time.Minute, UnrecordedTTL: week}})
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
		assert.Equal(t, "succeeded=10m0s failed=keep unrecorded=168h0m0s runs=keep logs=keep", created.Annotations[annotation])
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
		"None":            {"A Job without a TTL gets the backstop.", nil, week, ptr.To[int32](604800)},
		"Zero":            {"A TTL of 0 leaves 0.1 s to read the result.", ptr.To[int32](0), week, ptr.To[int32](604800)},
		"Shorter":         {"A shorter TTL is replaced.", ptr.To[int32](600), time.Hour, ptr.To[int32](3600)},
		"Longer":          {"A longer TTL is kept.", ptr.To[int32](7200), time.Hour, ptr.To[int32](7200)},
		"NoBackstop":      {"Without a backstop there is no TTL.", nil, 0, nil},
		"ShorterThanNone": {"Without a backstop, the TTL of the Job is removed.", ptr.To[int32](7200), 0, nil},
		"Negative":        {"A negative TTL is replaced.", ptr.To[int32](-5), time.Hour, ptr.To[int32](3600)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorldAs(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: tc.backstop}})
			job := ownedJob()
			job.Spec.TTLSecondsAfterFinished = tc.template
			_, err := w.guard.Ensure(t.Context(), jobgc.Ref{Namespace: "ns", Name: "job"}, job)
			require.NoError(t, err)
			assert.Equal(t, tc.want, w.jobs["job"].Spec.TTLSecondsAfterFinished, tc.reason)
			assert.Equal(t, tc.template, job.Spec.TTLSecondsAfterFinished)
		})
	}
}

// A Job that was created once is never created again, even after it is deleted.
// A Job that is made from the manifest of a released Job counts as not
// released.
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
		"Ours":                 {"An earlier attempt of this controller created it.", []metav1.OwnerReference{ours}, false, false, nil},
		"OursFinished":         {"The Job of an earlier attempt has finished.", []metav1.OwnerReference{ours}, false, true, nil},
		"OursDeleting":         {"The Job is being deleted unfinished; its name will be free soon.", []metav1.OwnerReference{ours}, true, false, jobgc.ErrTerminating},
		"OursDeletingFinished": {"Its outcome is known: a new Job would run the work twice.", []metav1.OwnerReference{ours}, true, true, nil},
		"Foreign":              {"Another controller owns the Job.", []metav1.OwnerReference{foreign}, false, true, jobgc.ErrNotOwned},
		"ForeignDeleting":      {"The Job of another controller is being deleted.", []metav1.OwnerReference{foreign}, true, true, jobgc.ErrTerminating},
		"Nobody's":             {"A Job created by hand has no controller.", nil, false, false, jobgc.ErrNotOwned},
		"MereOwner":            {"An owner that is not the controller did not create the Job.", []metav1.OwnerReference{mereOwner}, false, false, jobgc.ErrNotOwned},
		"PredecessorRun": {
			"A run of the same name was deleted and recreated: its Job must not be adopted, because the garbage collector is about to delete it.",
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
				job.DeletionTimestamp = ptr.To(metav1.NewTime(at))
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

// The existing Job may vanish between the two answers, but not forever.
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
			require.ErrorContains(t, err, exists.Error(), "the answer is quoted, in case it is not from an API server")
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
		"Create": {"The API server refuses the creation.", fakeJobs{create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, refusal }}, refusal},
		"Get": {"The controller of the existing Job is unknown.", fakeJobs{
			create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, exists },
			get:    func(string) (*batchv1.Job, error) { return nil, refusal },
		}, refusal},
		"Another404": {"A 404 about something else does not mean that the Job vanished.", fakeJobs{
			create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, exists },
			get:    func(string) (*batchv1.Job, error) { return nil, another },
		}, another},
		"NoJob": {"A client that returns neither a Job nor an error.", fakeJobs{create: func(*batchv1.Job) (job *batchv1.Job, err error) { return job, err }}, nil},
		"NoJobAdopted": {"A client that returns neither a Job nor an error.", fakeJobs{
			create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, exists },
			get:    func(string) (job *batchv1.Job, err error) { return job, err },
		}, nil},
		"NoUID": {"A Ref without a uid would mean that nothing was created.", fakeJobs{create: func(j *batchv1.Job) (*batchv1.Job, error) { return j, nil }}, nil},
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
		"NoController":    {ref, edit(func(j *batchv1.Job) { j.OwnerReferences[0].Controller = ptr.To(false) }), "ownerReferences"},
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
		Namespace: "ns", Name: "job", UID: "uid", ResourceVersion: "7", CreatedAt: ptr.To(metav1.NewTime(time.Unix(1, 0))),
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
