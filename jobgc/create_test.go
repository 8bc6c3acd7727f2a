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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

const (
	annotation = "jobgc.controllerkit.dev/retention"
	week       = 7 * 24 * time.Hour
)

func TestStepCreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: 10 * time.Minute, UnrecordedTTL: week}})
		job, before := ownedJob(), ownedJob()
		time.Sleep(1500 * time.Millisecond)
		ref, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, job)
		require.NoError(t, err)
		created := w.jobs["job"]
		assert.Equal(t, jobgc.Ref{
			Namespace: "ns", Name: "job", UID: created.UID, CreatedAt: ref.CreatedAt,
		}, ref)
		assert.Equal(t, time.Now().Truncate(time.Second), ref.CreatedAt.Time, "whole seconds, as JSON keeps them")
		assert.Equal(t, "ns", created.Namespace)
		assert.Equal(t, int32(604800), *created.Spec.TTLSecondsAfterFinished)
		assert.Equal(t, "succeeded=10m0s failed=keep unrecorded=168h0m0s", created.Annotations[annotation])
		assert.Equal(t, before, job, "the caller's Job is not changed")
	})
}

// A TTL that could delete a Job before its result is recorded is never created.
func TestStepCreates_WithTheBackstop(t *testing.T) {
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
			_, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, job)
			require.NoError(t, err)
			assert.Equal(t, tc.want, w.jobs["job"].Spec.TTLSecondsAfterFinished, tc.reason)
			assert.Equal(t, tc.template, job.Spec.TTLSecondsAfterFinished)
		})
	}
}

// A Job that is made from the manifest of a released Job counts as not
// released.
func TestStepCreates_WhatIsNotReleased(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := ownedJob()
	job.Annotations = map[string]string{"jobgc.controllerkit.dev/released": "2026-03-01T12:00:00Z"}
	_, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, job)
	require.NoError(t, err)
	assert.NotContains(t, w.jobs["job"].Annotations, "jobgc.controllerkit.dev/released")
	assert.Contains(t, job.Annotations, "jobgc.controllerkit.dev/released", "the caller's Job is not changed")
}

func TestStepCreates_WhereTheNameIsTaken(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ours, recreated, foreign := ownerRef("run", "run-uid"), ownerRef("run", "run-uid-of-before"), ownerRef("another", "x")
	mereOwner := ownerRef("run", "run-uid")
	mereOwner.Controller = nil
	cases := map[string]struct {
		reason   string
		owners   []metav1.OwnerReference
		deleting bool
		finished bool
		want     string
	}{
		"Ours":                 {"An earlier attempt of this controller created it.", []metav1.OwnerReference{ours}, false, false, ""},
		"OursFinished":         {"The Job of an earlier attempt has finished.", []metav1.OwnerReference{ours}, false, true, ""},
		"OursDeleting":         {"The Job is being deleted unfinished: a new Job would run the work twice.", []metav1.OwnerReference{ours}, true, false, ""},
		"OursDeletingFinished": {"Its outcome is known: a new Job would run the work twice.", []metav1.OwnerReference{ours}, true, true, ""},
		"Foreign":              {"Another controller owns the Job.", []metav1.OwnerReference{foreign}, false, true, "the name ns/job belongs to the Job of AgentRun another"},
		"ForeignDeleting":      {"The Job of another controller is being deleted.", []metav1.OwnerReference{foreign}, true, true, "still being deleted"},
		"Nobody's":             {"A Job created by hand has no controller.", nil, false, false, "has no controller"},
		"MereOwner":            {"An owner that is not the controller did not create the Job.", []metav1.OwnerReference{mereOwner}, false, false, "has no controller"},
		"PredecessorRun": {
			"A run of the same name was deleted and recreated: its Job must not be adopted, because the garbage collector is about to delete it.",
			[]metav1.OwnerReference{recreated},
			false, true, "still being deleted",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "there", OwnerReferences: tc.owners}}
			if tc.finished {
				finish(at)(job)
			}
			if tc.deleting {
				job.DeletionTimestamp = ptr.To(metav1.NewTime(at))
			}
			w.put(job)
			ref, err := ensure(t.Context(), w.guard, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want, tc.reason)
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

func TestStepCreates_OrFails(t *testing.T) {
	refusal := apierrors.NewForbidden(jobResource, "job", errors.New("namespace is terminating"))
	exists, another := apierrors.NewAlreadyExists(jobResource, "job"), notFoundOf("", "namespaces", "ns")
	cases := map[string]struct {
		reason string
		fake   fakeJobs
		want   error
	}{
		"Create": {"The API server refuses the creation.", fakeJobs{
			create: func(*batchv1.Job) (*batchv1.Job, error) { return nil, refusal },
			get:    func(name string) (*batchv1.Job, error) { return nil, notFound(name) },
		}, refusal},
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
			g, err := jobgc.NewUncached(func(string) fakeJobs { return tc.fake }, jobgc.Options{})
			require.NoError(t, err)
			ref, err := ensure(t.Context(), g, jobgc.Ref{Namespace: "ns", Name: "job"}, ownedJob())
			require.ErrorContains(t, err, "ns/job", tc.reason)
			assert.Empty(t, ref.UID)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
			}
		})
	}
}

// A webhook that sets no code is answered as 400 without a reason: ToStatusErr
// in k8s.io/apiserver/pkg/admission/plugin/webhook/errors.
func TestStepCreates_OrAdoptsAJobWhoseTTLAWebhookGuards(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
	job := ownedJob()
	job.Name, job.Namespace, job.UID, job.Spec.TTLSecondsAfterFinished = jobOfRun, "ns", "there", ptr.To[int32](60)
	s.put(job)
	s.refuse = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 400, Message: `admission webhook "ttl.example.com" denied the request: no`,
	}}
	s.step(t)
	assert.Equal(t, types.UID("there"), s.stored.job.UID)
}

// The Job of a call that was cut off ends while no TTL can be raised, and its
// TTL deletes it.
func TestStepCreates_OrRecordsAFinishedJobWhileAWebhookIsDown(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
	job := ownedJob()
	job.Name, job.Namespace, job.UID, job.Spec.TTLSecondsAfterFinished = jobOfRun, "ns", "there", ptr.To[int32](60)
	s.put(job)
	s.refuse = apierrors.NewInternalError(errors.New("no webhook answers"))
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorContains(t, err, "no webhook answers", "it still runs")
	s.change(jobOfRun, finish(time.Now()))
	s.step(t)
	assert.Equal(t, jobgc.Succeeded, s.stored.job.Outcome)
}

// Another replica replaces the Job between the read and the patch, whose test
// of the uid then fails. The API server answers that with 422, as a policy may.
func TestStepCreates_OrAdoptsNoJobThatIsReplacedMeanwhile(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	job := ownedJob()
	job.Name, job.Namespace, job.UID, job.Spec.TTLSecondsAfterFinished = jobOfRun, "ns", "there", ptr.To[int32](60)
	s.put(job)
	retention := jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}}
	replaced := func(string) fakeJobs {
		client := s.client("ns")
		patch := client.patch
		client.patch = func(name string, data []byte) (*batchv1.Job, error) {
			other := job.DeepCopy()
			other.UID = "other"
			s.put(other)
			return patch(name, data)
		}
		return client
	}
	g, err := jobgc.New(replaced, s.store.get, s.store, retention)
	require.NoError(t, err)
	_, _, err = g.Step(t.Context(), s.request(s.stored))
	require.Error(t, err)
	s.guard, err = jobgc.New(s.client, s.store.get, s.store, retention)
	require.NoError(t, err)
	s.step(t)
	assert.Equal(t, types.UID("other"), s.stored.job.UID)
}

// A run is cancelled whose Job, of a call that was cut off, has finished: the
// outcome is recorded, because the TTL may delete the Job next.
func TestStepCreates_OrRecordsAFinishedJobOfACancelledRun(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
	job := ownedJob()
	job.Name, job.Namespace, job.UID, job.Spec.TTLSecondsAfterFinished = jobOfRun, "ns", "there", ptr.To[int32](1)
	finish(time.Now())(job)
	s.put(job)
	s.refuse = apierrors.NewInternalError(errors.New("no webhook answers"))
	s.edit = func(r *jobgc.Request) { r.Cancel = true }
	found := s.step(t)
	assert.Equal(t, jobgc.Finished, found.State)
	assert.Equal(t, jobgc.Succeeded, s.stored.job.Outcome)
}

func TestStepCreates_InTheNamespaceOfTheJob(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := ownedJob()
	job.Namespace = "ns"
	ref, err := ensure(t.Context(), w.guard, jobgc.Ref{Name: "job"}, job)
	require.NoError(t, err)
	assert.Equal(t, "ns", ref.Namespace)
}

func TestRefAsStatus(t *testing.T) {
	data, err := json.Marshal(jobgc.Ref{Name: "job"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"job"}`, string(data), "an intent is a name; server-side apply refuses a null time")

	full := jobgc.Ref{
		Namespace: "ns", Name: "job", UID: "uid", CreatedAt: ptr.To(metav1.NewTime(time.Unix(1, 0))),
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
