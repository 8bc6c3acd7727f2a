// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

func TestNewJob(t *testing.T) {
	run := newRun("nightly")
	run.Spec.Parameters = map[string]string{"language": "en"}
	run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "key", Key: "token"}
	run.Spec.BackoffLimit = new(int32(2))
	run.Spec.TimeoutSeconds = new(int64(60))
	run.Spec.PodAnnotations = map[string]string{"a": "b"}
	job, err := newJob(run)
	require.NoError(t, err)
	assert.True(t, metav1.IsControlledBy(job, run))
	assert.Empty(t, job.Name, "jobgc names it")
	assert.Nil(t, job.Spec.TTLSecondsAfterFinished, "jobgc decides the TTL")
	assert.Equal(t, int32(2), *job.Spec.BackoffLimit)
	assert.Equal(t, int64(60), *job.Spec.ActiveDeadlineSeconds)
	pod := job.Spec.Template
	assert.Equal(t, map[string]string{"a": "b"}, pod.Annotations)
	env := pod.Spec.Containers[0].Env
	assert.JSONEq(t, `{"language":"en"}`, env[0].Value)
	assert.Equal(t, "key", env[1].ValueFrom.SecretKeyRef.Name)
	assert.Empty(t, env[1].Value, "a Job never has the value of a Secret")
	for label, v := range pod.Labels {
		assert.Empty(t, validation.IsValidLabelValue(v), label)
	}

	run.Spec.Parameters = map[string]string{"price": "a$$b $(HOME)"}
	job, err = newJob(run)
	require.NoError(t, err)
	assert.JSONEq(t, `{"price":"a$$$$b $$(HOME)"}`, job.Spec.Template.Spec.Containers[0].Env[0].Value, "the kubelet makes it the value in the run")

	run.Spec.JobTTLSecondsAfterFinished = new(int32(0))
	job, err = newJob(run)
	require.NoError(t, err)
	assert.Equal(t, int32(0), *job.Spec.TTLSecondsAfterFinished, "which jobgc sets once the result is recorded")
}

func TestNewJob_MeetsTheRestrictedStandardUnlessTheRunAsksForMore(t *testing.T) {
	run := newRun("nightly")
	job, err := newJob(run)
	require.NoError(t, err)
	pod := job.Spec.Template.Spec
	assert.False(t, *pod.AutomountServiceAccountToken)
	assert.True(t, *pod.Containers[0].SecurityContext.RunAsNonRoot)
	assert.Equal(t, "100m", pod.Containers[0].Resources.Requests.Cpu().String())

	run.Spec.AutomountServiceAccountToken = true
	run.Spec.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))}
	run.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
	job, err = newJob(run)
	require.NoError(t, err)
	pod = job.Spec.Template.Spec
	assert.True(t, *pod.AutomountServiceAccountToken)
	assert.Equal(t, run.Spec.SecurityContext, pod.Containers[0].SecurityContext, "and nothing is added")
	assert.Equal(t, *run.Spec.Resources, pod.Containers[0].Resources)
}
