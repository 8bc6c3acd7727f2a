// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runningStatus is the status of a pod all of whose containers have just
// started.
func runningStatus(pod *corev1.Pod, at time.Time) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	now := metav1.NewTime(at)
	status.ObservedGeneration = pod.Generation
	status.Phase = corev1.PodRunning
	status.StartTime = &now
	status.HostIP = "127.0.0.1"
	status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	for _, condition := range []corev1.PodConditionType{
		corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
	} {
		setCondition(&status, condition, corev1.ConditionTrue, "", now)
	}
	status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name:        container.Name,
			Image:       container.Image,
			ImageID:     container.Image,
			ContainerID: containerID(pod, container.Name),
			Ready:       true,
			Started:     new(true),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

// endedStatus is the status of a pod whose containers have just ended. A pod
// that never ran gets the status of a start too, because a terminal pod without
// container statuses means that no kubelet accepted it.
func endedStatus(pod *corev1.Pod, e ending, at time.Time) corev1.PodStatus {
	if pod.Status.Phase != corev1.PodRunning {
		pod = pod.DeepCopy()
		pod.Status = runningStatus(pod, at)
	}
	status := *pod.Status.DeepCopy()
	now := metav1.NewTime(at)
	status.ObservedGeneration = pod.Generation
	status.Phase = corev1.PodSucceeded
	reason := "PodCompleted"
	if e.code != 0 {
		status.Phase = corev1.PodFailed
		reason = "PodFailed"
	}
	setCondition(&status, corev1.ContainersReady, corev1.ConditionFalse, reason, now)
	setCondition(&status, corev1.PodReady, corev1.ConditionFalse, reason, now)
	for i := range status.ContainerStatuses {
		container := &status.ContainerStatuses[i]
		started := now
		if container.State.Running != nil {
			started = container.State.Running.StartedAt
		}
		container.Ready = false
		container.Started = new(false)
		container.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: e.code, Reason: e.reason, Message: e.message,
			StartedAt: started, FinishedAt: now, ContainerID: container.ContainerID,
		}}
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
	if i < 0 {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if status.Conditions[i].Status == value {
		condition.LastTransitionTime = status.Conditions[i].LastTransitionTime
	}
	status.Conditions[i] = condition
}

func containerID(pod *corev1.Pod, container string) string {
	return "controlplane://" + string(pod.UID) + "/" + container
}
