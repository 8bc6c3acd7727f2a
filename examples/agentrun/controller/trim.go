// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc/expire"
)

// jobgcPrefix begins the annotations of package jobgc.
const jobgcPrefix = "jobgc.controllerkit.dev/"

// trim is the transform of the informers. A run or a Job can have more than a
// megabyte, and there may be thousands. The caches hold only what the
// controller reads. Nothing writes a cached object back: a write of the status
// is the difference between two copies, which both lack the same.
func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *v1alpha1.AgentRun:
		trimRun(o)
	case *batchv1.Job:
		o.ManagedFields = nil
		o.Spec.Template = corev1.PodTemplateSpec{}
		// An empty map stays: no annotations at all would mean that a patch has
		// to create the map.
		maps.DeleteFunc(o.Annotations, func(name, _ string) bool {
			return !strings.HasPrefix(name, jobgcPrefix)
		})
	}
	return obj, nil
}

// trimRun removes what only the creation of the Job needs, once the run has its
// Job or has ended.
func trimRun(run *v1alpha1.AgentRun) {
	run.ManagedFields = nil
	started := run.Status.JobRef != nil && run.Status.JobRef.UID != ""
	if !started && !run.Status.Phase.Terminal() {
		return
	}
	run.Labels = nil
	// Package expire reads this annotation.
	maps.DeleteFunc(run.Annotations, func(name, _ string) bool { return name != expire.DefaultRetain })
	run.Spec = v1alpha1.AgentRunSpec{
		SecretRef:                  run.Spec.SecretRef,
		Suspend:                    run.Spec.Suspend,
		Cancel:                     run.Spec.Cancel,
		JobTTLSecondsAfterFinished: run.Spec.JobTTLSecondsAfterFinished,
		TTLSecondsAfterFinished:    run.Spec.TTLSecondsAfterFinished,
	}
}
