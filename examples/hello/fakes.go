// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// run is a custom resource.
type run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            runStatus `json:"status"`
}

type runStatus struct {
	Phase        string `json:"phase,omitempty"`
	status.Stamp `json:",inline"`
}

func newRun() *run {
	return &run{
		TypeMeta: metav1.TypeMeta{APIVersion: "agents.example.com/v1", Kind: "AgentRun"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       "default",
			Name:            "hello",
			UID:             "7",
			ResourceVersion: "41",
			Generation:      1,
		},
	}
}

func (r *run) DeepCopy() *run {
	out := *r
	out.ObjectMeta = *r.ObjectMeta.DeepCopy()
	out.Status.Stamp = *r.Status.DeepCopy()
	return &out
}

// DeepCopyObject makes run a runtime.Object.
func (r *run) DeepCopyObject() runtime.Object { return r.DeepCopy() }

// fakeJobs replaces clientset.BatchV1().Jobs(namespace).
type fakeJobs map[string]*batchv1.Job

func (f fakeJobs) Get(_ context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	job, found := f[name]
	if !found {
		return nil, apierrors.NewNotFound(batchv1.Resource("jobs"), name)
	}
	return job, nil
}

// fakeEvents replaces clientset.CoreV1().Events(namespace) and keeps the last
// Event.
type fakeEvents struct {
	writes int
	last   *corev1.Event
}

func (f *fakeEvents) Create(
	_ context.Context, e *corev1.Event, _ metav1.CreateOptions,
) (*corev1.Event, error) {
	f.writes++
	f.last = e
	return e, nil
}

func (f *fakeEvents) Patch(
	_ context.Context, _ string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Event, error) {
	f.writes++
	return f.last, json.Unmarshal(patch, f.last)
}

// newDeployment is a workload as charts render it.
func newDeployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "agents"}
	container := corev1.Container{Name: "agents", Image: "example.com/agents:1"}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agents"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}
}
