// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNext(t *testing.T) {
	short := plan{outcome: Succeed, delay: time.Second, linger: time.Second}
	deleted := &metav1.Time{Time: time.Unix(1, 0)}
	cases := map[string]struct {
		reason  string
		pod     corev1.Pod
		plan    plan
		invalid error
		since   time.Duration
		want    step
		wait    time.Duration
	}{
		"Unbound":         {reason: "A pod needs a node first.", plan: short, want: bind},
		"UnboundInvalid":  {reason: "A pod that will be rejected is bound too.", invalid: errors.New("x"), want: bind},
		"Gated":           {reason: "A gate holds it back.", pod: corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}}}, want: nothing},
		"UnboundDeleted":  {reason: "The API server removes it.", pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}}, want: nothing},
		"Elsewhere":       {reason: "Another node's pod.", pod: pod("other", corev1.PodPending, nil), want: nothing},
		"Bound":           {reason: "It starts.", pod: pod(NodeName, corev1.PodPending, nil), plan: short, want: run},
		"BoundNoPhase":    {reason: "A phase may be missing.", pod: pod(NodeName, "", nil), plan: short, want: run},
		"Invalid":         {reason: "It never runs.", pod: pod(NodeName, corev1.PodPending, nil), invalid: errors.New("x"), want: reject},
		"Running":         {reason: "Not yet.", pod: pod(NodeName, corev1.PodRunning, nil), plan: short, since: 400 * time.Millisecond, wait: 600 * time.Millisecond},
		"RunningLong":     {reason: "Its time is up.", pod: pod(NodeName, corev1.PodRunning, nil), plan: short, since: time.Second, want: finish},
		"Never":           {reason: "It runs on.", pod: pod(NodeName, corev1.PodRunning, nil), plan: plan{outcome: Never}, since: time.Hour, want: nothing},
		"Ended":           {reason: "An end is final.", pod: pod(NodeName, corev1.PodSucceeded, nil), plan: short, want: nothing},
		"EndedInvalid":    {reason: "Also after an edit.", pod: pod(NodeName, corev1.PodFailed, nil), invalid: errors.New("x"), want: nothing},
		"DeletedLingers":  {reason: "It takes its time.", pod: pod(NodeName, corev1.PodRunning, deleted), plan: short, wait: time.Second},
		"DeletedRunning":  {reason: "It ends before it goes.", pod: pod(NodeName, corev1.PodRunning, deleted), plan: short, since: time.Second, want: evict},
		"DeletedPending":  {reason: "A pod that has not started is evicted too.", pod: pod(NodeName, corev1.PodPending, deleted), want: evict},
		"DeletedEnded":    {reason: "Then it goes.", pod: pod(NodeName, corev1.PodFailed, deleted), plan: short, since: time.Second, want: remove},
		"HeldByFinalizer": {reason: "Removed once is enough.", pod: graceless(pod(NodeName, corev1.PodFailed, deleted)), want: nothing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, wait := next(&tc.pod, tc.plan, tc.invalid, func(stage) time.Duration { return tc.since })
			assert.Equal(t, tc.want, got, tc.reason)
			assert.Equal(t, tc.wait, wait, tc.reason)
		})
	}
}

func pod(node string, phase corev1.PodPhase, deleted *metav1.Time) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 2, DeletionTimestamp: deleted},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func graceless(p corev1.Pod) corev1.Pod {
	p.DeletionGracePeriodSeconds = new(int64(0))
	return p
}

func TestStatusKeepsWhatOthersWrote(t *testing.T) {
	begin, end := time.Unix(100, 0), time.Unix(105, 0)
	p := pod(NodeName, corev1.PodPending, nil)
	disrupted := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "Theirs"}
	p.Status.Conditions = []corev1.PodCondition{disrupted}

	p.Status = runningStatus(&p, begin)
	assert.Equal(t, corev1.PodRunning, p.Status.Phase)
	assert.Equal(t, int64(2), p.Status.ObservedGeneration)
	assert.Len(t, p.Status.ContainerStatuses, 2)
	assert.Contains(t, p.Status.Conditions, disrupted)

	ended := endedStatus(&p, ending{code: 3, reason: "Error", message: "m"}, end)
	assert.Equal(t, corev1.PodFailed, ended.Phase)
	assert.Contains(t, ended.Conditions, disrupted)
	assert.Len(t, ended.Conditions, 4, "a condition is replaced, not repeated")
	for _, c := range ended.ContainerStatuses {
		assert.Equal(t, &corev1.ContainerStateTerminated{
			ExitCode: 3, Reason: "Error", Message: "m", ContainerID: c.ContainerID,
			StartedAt: metav1.NewTime(begin), FinishedAt: metav1.NewTime(end),
		}, c.State.Terminated)
	}
	assert.NotNil(t, p.Status.ContainerStatuses[0].State.Running, "the pod that was passed does not change")

	unstarted := pod(NodeName, corev1.PodPending, nil)
	ended = endedStatus(&unstarted, ending{code: 1}, end)
	assert.Len(t, ended.ContainerStatuses, 2, "a pod that never ran has container statuses, too")
	assert.NotNil(t, ended.StartTime)
}
