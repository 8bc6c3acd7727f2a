// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// refusing is a server that finds each new Job invalid, or a policy refuses it:
// both come before it looks whether the name is taken.
type refusing struct{ *server }

func (s refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		err := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "run-nightly", nil)
		err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return reply(r, int(err.ErrStatus.Code), err.ErrStatus)
	}
	return s.server.RoundTrip(r)
}

// TestARefusedCreationOfAJobThatExists: the controller was killed between the
// creation of the Job and the record of it. Then a policy was installed, or the
// run was edited. The Job has succeeded.
func TestARefusedCreationOfAJobThatExists(t *testing.T) {
	run, job := newStarted("nightly", nil)
	run.Status = v1alpha1.AgentRunStatus{}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
	at := metav1.NewTime(time.Now())
	job.Status.StartTime = &at
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at}}
	s := newServer(run)
	s.job = func(string) *batchv1.Job { return job }
	c := s.controllerOn(t, refusing{s}, Options{})
	_, _ = c.step(t.Context(), keyOf(run))
	st := s.runs[run.Name].Status
	assert.Equal(t, v1alpha1.Succeeded, st.Phase, "%s: %s; the ref is %v", st.Reason, st.Message, st.JobRef)
}

// TestADeletingJobThatIsAdopted: the controller was killed between the creation
// of the Job and the record of it, and then the Job was deleted.
func TestADeletingJobThatIsAdopted_GivesTheRunAPhase(t *testing.T) {
	run, job := newStarted("nightly", nil)
	run.Status = v1alpha1.AgentRunStatus{}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
	job.DeletionTimestamp = new(metav1.Now())
	s := newServer(run)
	s.job = func(string) *batchv1.Job { return job }
	_, err := s.controllerOn(t, refusing{s}, Options{}).reconcile(t.Context(), keyOf(run))
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.Pending, s.runs[run.Name].Status.Phase)
}
