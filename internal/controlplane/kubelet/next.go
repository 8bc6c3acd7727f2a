// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// step is what happens to a pod next.
type step string

const (
	nothing step = ""
	bind    step = "bind"   // to the node
	run     step = "run"    // Pending to Running
	finish  step = "finish" // as its plan says
	reject  step = "reject" // Failed, because its annotations are invalid
	evict   step = "evict"  // Failed, because it was deleted before it ended
	remove  step = "remove" // deletes the object
)

// stage is a state whose length matters.
type stage string

const (
	whileRunning  stage = "running"
	whileDeleting stage = "deleting"
)

// next decides the next step of a pod, and, if that is nothing yet, after how
// long to ask again. since says for how long the pod has been in a stage.
func next(pod *corev1.Pod, p plan, invalid error, since func(stage) time.Duration) (step, time.Duration) {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.Spec.NodeName == "":
		if pod.DeletionTimestamp != nil {
			return nothing, 0
		}
		return bind, 0
	case pod.Spec.NodeName != NodeName:
		return nothing, 0
	case pod.DeletionTimestamp != nil:
		if wait := p.linger - since(whileDeleting); wait > 0 {
			return nothing, wait
		}
		if !ended {
			return evict, 0 // like a kubelet, so that a Job's controller counts the pod
		}
		if pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
			return nothing, 0 // already removed; a finalizer keeps the object
		}
		return remove, 0
	case ended:
		return nothing, 0
	case invalid != nil:
		return reject, 0
	case pod.Status.Phase != corev1.PodRunning:
		return run, 0
	case p.outcome == Never:
		return nothing, 0
	}
	if wait := p.delay - since(whileRunning); wait > 0 {
		return nothing, wait
	}
	return finish, 0
}
