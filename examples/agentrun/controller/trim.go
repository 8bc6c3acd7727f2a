// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// A run or a Job can have more than a megabyte, and there may be thousands. The
// caches hold only what the controller reads. Nothing writes a cached object
// back: a write of the status is the difference between two copies, which both
// lack the same.

// trimmedAnnotation marks a cached run that lacks a part of its spec. It exists
// in the cache only.
const trimmedAnnotation = "agents.controllerkit.dev/trimmed"

// keepAtMost is how many bytes of a run are kept until it has a Job.
const keepAtMost = 16 << 10

// jobgcPrefix begins the annotations of package jobgc.
const jobgcPrefix = "jobgc.controllerkit.dev/"

// trim is the transform of the informers.
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
// Job or has ended. From a large run it removes that earlier, and the creation
// reads the run again.
func trimRun(run *v1alpha1.AgentRun) {
	run.ManagedFields = nil
	started := run.Status.JobRef != nil && run.Status.JobRef.UID != ""
	if !started && !run.Status.Phase.Terminal() && size(run) <= keepAtMost {
		return
	}
	run.Labels = nil
	run.Annotations = map[string]string{trimmedAnnotation: ""}
	run.Spec = v1alpha1.AgentRunSpec{
		SecretRef:                  run.Spec.SecretRef,
		Suspend:                    run.Spec.Suspend,
		Cancel:                     run.Spec.Cancel,
		JobTTLSecondsAfterFinished: run.Spec.JobTTLSecondsAfterFinished,
		TTLSecondsAfterFinished:    run.Spec.TTLSecondsAfterFinished,
	}
}

// isTrimmed reports whether the run lacks a part of its spec.
func isTrimmed(run *v1alpha1.AgentRun) bool {
	_, ok := run.Annotations[trimmedAnnotation]
	return ok
}

// size returns how many bytes the parts of a run have that can be large.
func size(run *v1alpha1.AgentRun) int {
	bytes := len(run.Spec.Image) + len(run.Spec.ServiceAccountName)
	for _, list := range [][]string{run.Spec.Command, run.Spec.Args} {
		for _, text := range list {
			bytes += len(text)
		}
	}
	groups := []map[string]string{run.Labels, run.Annotations, run.Spec.Parameters, run.Spec.PodAnnotations}
	for _, texts := range groups {
		for name, text := range texts {
			bytes += len(name) + len(text)
		}
	}
	return bytes
}
