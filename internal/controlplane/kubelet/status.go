// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusAt is the status of a pod whose containers run, or have just ended. A
// pod that never ran gets the status of a start too, because a terminal pod
// without container statuses means that no kubelet accepted it.
func statusAt(now metav1.Time, pod *corev1.Pod, e *ending) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.ObservedGeneration = pod.Generation
	if status.StartTime == nil {
		status.StartTime = &now
		status.HostIP = "127.0.0.1"
		status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	}
	status.Phase = corev1.PodRunning
	ready, reason := corev1.ConditionTrue, ""
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *status.StartTime}}
	if e != nil {
		status.Phase, reason = corev1.PodSucceeded, "PodCompleted"
		if e.code != 0 {
			status.Phase, reason = corev1.PodFailed, "PodFailed"
		}
		ready = corev1.ConditionFalse
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: e.code, Reason: e.reason, Message: e.message,
			StartedAt: *status.StartTime, FinishedAt: now,
		}}
	}
	setCondition(&status, corev1.PodInitialized, corev1.ConditionTrue, "", now)
	setCondition(&status, corev1.ContainersReady, ready, reason, now)
	setCondition(&status, corev1.PodReady, ready, reason, now)
	status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: container.Image,
			ContainerID: "controlplane://" + string(pod.UID) + "/" + container.Name,
			Ready:       e == nil, Started: new(e == nil), State: state,
		})
	}
	return status
}

// setCondition sets one condition. It keeps the others, which belong to other
// writers.
func setCondition(
	status *corev1.PodStatus, t corev1.PodConditionType, value corev1.ConditionStatus, reason string,
	now metav1.Time,
) {
	condition := corev1.PodCondition{Type: t, Status: value, Reason: reason, LastTransitionTime: now}
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	switch {
	case i < 0:
		status.Conditions = append(status.Conditions, condition)
	case status.Conditions[i].Status != value:
		status.Conditions[i] = condition
	}
}
