// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// Bad input is an error that names the field, and nothing is created.
func TestStepBadInput(t *testing.T) {
	job := func(edit func(*batchv1.Job)) func(*jobgc.Request) {
		return func(req *jobgc.Request) {
			req.Job = func() (*batchv1.Job, error) {
				job := ownedJob()
				job.Name = ""
				edit(job)
				return job, nil
			}
		}
	}
	other := func(run metav1.Object, err error) func(*jobgc.Request) {
		return func(req *jobgc.Request) {
			req.Stored = func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return run, nil, false, err }
		}
	}
	for name, tc := range map[string]struct {
		edit func(*jobgc.Request)
		want string
	}{
		"NoOwner":        {func(req *jobgc.Request) { req.Owner = nil }, "Request.Owner is nil; pass the object that was read"},
		"NilOwner":       {func(req *jobgc.Request) { req.Owner = (*agentRun)(nil) }, "Request.Owner is nil; pass the object that was read"},
		"OwnerNoUID":     {func(req *jobgc.Request) { req.Owner = &metav1.ObjectMeta{Name: "run"} }, "Request.Owner needs a name and a uid"},
		"NoReader":       {func(req *jobgc.Request) { req.Stored = nil }, "Request.Stored is nil; pass a live read of the owner"},
		"NoBuilder":      {func(req *jobgc.Request) { req.Job = nil }, "Request.Job is nil; pass a function that returns the Job"},
		"OtherOwner":     {other(&metav1.ObjectMeta{Namespace: "ns", Name: "another", UID: "run-uid"}, nil), "Request.Stored returned ns/another"},
		"OtherNamespace": {other(&metav1.ObjectMeta{Namespace: "elsewhere", Name: "run", UID: "run-uid"}, nil), "Request.Stored returned elsewhere/run"},
		"NoStored":       {other(nil, nil), "Request.Stored returned neither"},
		"StoredNilRun":   {other((*agentRun)(nil), nil), "Request.Stored returned neither"},
		"StoredNoUID":    {other(&metav1.ObjectMeta{Namespace: "ns", Name: "run"}, nil), "and a uid"},
		"StoredFails":    {other(nil, errors.New("no route to host")), "Request.Stored: no route to host"},
		"StoredOther404": {other(nil, notFoundOf("", "namespaces", "ns")), "Request.Stored: "},
		"NilJob":         {func(req *jobgc.Request) { req.Job = func() (job *batchv1.Job, err error) { return job, err } }, "Request.Job returned neither"},
		"JobName":        {job(func(j *batchv1.Job) { j.Name = "mine" }), `job.metadata.name is "mine", want "run-run-uid" or none`},
		"JobNamespace":   {job(func(j *batchv1.Job) { j.Namespace = "elsewhere" }), "job.metadata.namespace"},
		"JobNoOwner":     {job(func(j *batchv1.Job) { j.OwnerReferences = nil }), "job.metadata.ownerReferences"},
		"JobOtherOwner":  {job(func(j *batchv1.Job) { j.OwnerReferences[0].UID = "x" }), "job.metadata.ownerReferences"},
		"JobMereOwner":   {job(func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil }), "job.metadata.ownerReferences"},
		"RefNoName":      {func(req *jobgc.Request) { req.Ref = &jobgc.Ref{UID: "x"} }, "Request.Ref.Name is empty"},
		"RefNoUID":       {func(req *jobgc.Request) { req.Ref = &jobgc.Ref{Outcome: jobgc.Failed} }, "Request.Ref.UID is empty"},
		"RefNameNoUID":   {func(req *jobgc.Request) { req.Ref = &jobgc.Ref{Name: "mine"} }, `Request.Ref has the name "mine" and no uid; to take over the Job of that name, set Request.Name to it`},
		"RefOtherName":   {func(req *jobgc.Request) { req.Ref, req.Name = &jobgc.Ref{Name: "mine"}, "other" }, "set Request.Name to it"},
		"RefElsewhere":   {func(req *jobgc.Request) { req.Ref = &jobgc.Ref{Namespace: "elsewhere"} }, "Request.Ref.Namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.edit = tc.edit
			req := s.request(s.stored)
			ref, found, err := s.guard.Step(t.Context(), req)
			require.ErrorContains(t, err, "jobgc: step: ")
			require.ErrorContains(t, err, tc.want)
			assert.Equal(t, req.Ref, ref)
			assert.Zero(t, found)
			assert.Zero(t, s.creates)
		})
	}
	t.Run("BuilderFails", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		own := errors.New("no image")
		s.edit = func(req *jobgc.Request) { req.Job = func() (*batchv1.Job, error) { return nil, own } }
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		assert.Equal(t, own, err, "the caller's own words")
		assert.Zero(t, s.creates)
	})
	t.Run("OnePrefix", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.step(t)
		s.store.err = errors.New("disk on fire")
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.EqualError(t, err, "jobgc: step: the cached read of the Job ns/run-run-uid: disk on fire")
	})
	t.Run("CacheFails", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.store.err = errors.New("disk on fire")
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "disk on fire")
		assert.Zero(t, s.creates)
	})
	for name, tc := range map[string]struct {
		job  *batchv1.Job
		want string
	}{
		"CachedNil":       {nil, "returned neither a Job nor an error"},
		"CachedNoUID":     {&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: jobOfRun}}, `returned ns/run-run-uid with the uid ""`},
		"CachedOtherName": {&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "1"}}, "returned ns/other"},
		"CachedElsewhere": {&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: jobOfRun, UID: "1"}}, "returned other/run-run-uid"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.store.items["ns/"+jobOfRun] = tc.job
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			require.ErrorContains(t, err, "the cached read of the Job ns/run-run-uid "+tc.want)
			assert.Zero(t, s.creates)
		})
	}
	for name, edit := range map[string]func(*agentRun, *jobgc.Request){
		"NilClientCreates": func(*agentRun, *jobgc.Request) {},
		"NilClientLists":   func(run *agentRun, _ *jobgc.Request) { run.CreationTimestamp = metav1.Now() },
		"NilClientReads":   func(_ *agentRun, req *jobgc.Request) { req.Ref = &jobgc.Ref{Name: jobOfRun, UID: "1"} },
		"NilClientPatches": func(_ *agentRun, req *jobgc.Request) {
			req.Ref = &jobgc.Ref{Name: "job", UID: "x"}
			req.Suspend = ptr.To(true)
		},
		"NilClientDeletes": func(_ *agentRun, req *jobgc.Request) {
			req.Ref = &jobgc.Ref{Name: "job", UID: "x"}
			req.Cancel = true
			req.Done = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			job := ownedJob()
			job.UID = "x"
			s.put(job)
			s.store.sync(s.server)
			g, err := jobgc.New(func(string) *fakeJobs { return nil }, s.store, jobgc.Options{})
			require.NoError(t, err)
			req := s.request(s.stored)
			edit(s.stored, &req)
			req.Stored = func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
				return s.stored, req.Ref, req.Done, nil
			}
			_, _, err = g.Step(t.Context(), req)
			require.ErrorContains(t, err, "the client of namespace ns is nil; return one, such as clientset.BatchV1().Jobs(namespace)")
		})
	}
	t.Run("JobLosesItsController", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.step(t)
		s.change(jobOfRun, func(j *batchv1.Job) { j.OwnerReferences = nil })
		s.store.sync(s.server)
		assert.Equal(t, jobgc.Active, s.step(t).State)
	})
	t.Run("RefOfAnotherOwner", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		job := ownedJob()
		job.UID, job.OwnerReferences = "x", []metav1.OwnerReference{ownerRef("another", "y")}
		s.put(job)
		s.store.sync(s.server)
		s.stored.job = &jobgc.Ref{Name: "job", UID: "x"}
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "Request.Ref.UID: the Job ns/job is controlled by AgentRun another, not by Request.Owner")
	})
}
