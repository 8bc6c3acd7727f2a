// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

// The tests of this file run together, after the tests that break the control
// plane and repair it.

// job returns a Job that tries once.
func job(name string, annotations map[string]string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
				Spec: corev1.PodSpec{
					RestartPolicy:                 corev1.RestartPolicyNever,
					Containers:                    []corev1.Container{{Name: "main", Image: "example.com/none"}},
					TerminationGracePeriodSeconds: new(int64(1)), // the namespace controller waits half of it
				},
			},
		},
	}
}

func createJob(t *testing.T, client kubernetes.Interface, ns string, j *batchv1.Job) *batchv1.Job {
	t.Helper()
	created, err := client.BatchV1().Jobs(ns).Create(t.Context(), j, metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

// condition returns the first condition of a Job that is true and of one of the
// types.
func condition(j *batchv1.Job, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	for _, c := range j.Status.Conditions {
		for _, t := range types {
			if c.Type == t && c.Status == corev1.ConditionTrue {
				return &c
			}
		}
	}
	return nil
}

// ready reports whether the kubelet has reported the pod as ready.
func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// finished waits for a Job to end.
func finished(t *testing.T, client kubernetes.Interface, ns, name string) (j *batchv1.Job, pod corev1.Pod) {
	t.Helper()
	eventually(t, "the Job ends", func(c *assert.CollectT) {
		var err error
		j, err = client.BatchV1().Jobs(ns).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(c, err)
		require.NotNil(c, condition(j, batchv1.JobComplete, batchv1.JobFailed))
	})
	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=" + name})
	require.NoError(t, err)
	require.Len(t, pods.Items, 1)
	return j, pods.Items[0]
}

func TestJobsEndAsTheirPodsAreAnnotated(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	ns := namespace(t, client)
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		want        batchv1.JobConditionType
		code        int32
		because     string
		message     string
	}{
		"default": {
			reason: "Without annotations a Job must complete.",
			want:   batchv1.JobComplete, because: "Completed", message: "exit code 0",
		},
		"fail": {
			reason:      "A failure has the exit code that programs use for one.",
			annotations: map[string]string{kubelet.OutcomeAnnotation: kubelet.Fail},
			want:        batchv1.JobFailed, code: 1, because: "Error", message: "exit code 1",
		},
		"fail-with-code": {
			reason: "The exit code and the termination message are the pod's to choose.",
			annotations: map[string]string{
				kubelet.OutcomeAnnotation: kubelet.Fail, kubelet.ExitCodeAnnotation: "3", kubelet.MessageAnnotation: "no disk",
			},
			want: batchv1.JobFailed, code: 3, because: "Error", message: "no disk",
		},
		"malformed": {
			reason:      "A typing error must be seen, not read as the default.",
			annotations: map[string]string{kubelet.OutcomeAnnotation: "succeeds"},
			want:        batchv1.JobFailed, code: 1, because: "InvalidAnnotation", message: "succeed, fail or never",
		},
	}
	for name, tc := range cases {
		createJob(t, client, ns, job(name, tc.annotations))
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j, pod := finished(t, client, ns, name)
			assert.NotNil(t, condition(j, tc.want), tc.reason)
			assert.Equal(t, kubelet.NodeName, pod.Spec.NodeName, tc.reason)
			require.Len(t, pod.Status.ContainerStatuses, 1)
			ended := pod.Status.ContainerStatuses[0].State.Terminated
			require.NotNil(t, ended, tc.reason)
			assert.Equal(t, tc.code, ended.ExitCode, tc.reason)
			assert.Equal(t, tc.because, ended.Reason, tc.reason)
			assert.Contains(t, ended.Message, tc.message, tc.reason)
		})
	}
}

func TestPodRunsForItsDelayAndNeverMeansNever(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	ns := namespace(t, client)
	// The Job may be too late to see the delayed pod ready: its controller
	// counts pods once a second at most.
	delayed, err := client.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{LabelSelector: "job-name=delayed"})
	require.NoError(t, err)
	defer delayed.Stop()
	createJob(t, client, ns, job("delayed", map[string]string{kubelet.DelayAnnotation: "2s"}))
	createJob(t, client, ns, job("never", map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}))

	eventually(t, "the Job sees its pod ready", func(c *assert.CollectT) {
		j, err := client.BatchV1().Jobs(ns).Get(t.Context(), "never", metav1.GetOptions{})
		require.NoError(c, err)
		require.NotNil(c, j.Status.Ready)
		require.Equal(c, int32(1), *j.Status.Ready)
	})
	_, pod := finished(t, client, ns, "delayed")
	ended := pod.Status.ContainerStatuses[0].State.Terminated
	assert.GreaterOrEqual(t, ended.FinishedAt.Sub(ended.StartedAt.Time), 2*time.Second)
	for wasReady := false; !wasReady; {
		event := <-delayed.ResultChan()
		seen, ok := event.Object.(*corev1.Pod)
		require.True(t, ok, "%v", event)
		require.NotEqual(t, corev1.PodSucceeded, seen.Status.Phase, "it is ready before it ends")
		wasReady = seen.Status.Phase == corev1.PodRunning && ready(seen)
	}
	never, err := client.BatchV1().Jobs(ns).Get(t.Context(), "never", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(1), never.Status.Active)
}

func TestDeletedPodEndsAndLingers(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	ns := namespace(t, client)
	pods := client.CoreV1().Pods(ns)
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "lingers", Annotations: map[string]string{
			kubelet.OutcomeAnnotation: kubelet.Never, kubelet.LingerAnnotation: "3s",
		}},
		Spec: job("", nil).Spec.Template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "it runs", func(c *assert.CollectT) {
		pod, err := pods.Get(t.Context(), "lingers", metav1.GetOptions{})
		require.NoError(c, err)
		require.Equal(c, corev1.PodRunning, pod.Status.Phase)
	})
	watch, err := pods.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer watch.Stop()
	began := time.Now()
	require.NoError(t, pods.Delete(t.Context(), "lingers", metav1.DeleteOptions{}))
	eventually(t, "it goes", func(c *assert.CollectT) {
		_, err := pods.Get(t.Context(), "lingers", metav1.GetOptions{})
		require.True(c, apierrors.IsNotFound(err), "%v", err)
	})
	assert.GreaterOrEqual(t, time.Since(began), 3*time.Second, "it lingers")
	var last *corev1.Pod
	for event := range watch.ResultChan() {
		last, _ = event.Object.(*corev1.Pod)
		if event.Type == "DELETED" {
			break
		}
	}
	require.NotNil(t, last)
	assert.NotNil(t, last.DeletionTimestamp)
	assert.Equal(t, corev1.PodFailed, last.Status.Phase, "a pod that is stopped has ended before it goes")
	assert.Equal(t, int32(143), last.Status.ContainerStatuses[0].State.Terminated.ExitCode)
}

func TestTTLDeletesFinishedJobs(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	ns := namespace(t, client)
	j := job("short-lived", nil)
	j.Spec.TTLSecondsAfterFinished = new(int32(0))
	createJob(t, client, ns, j)
	eventually(t, "the Job and its pod go", func(c *assert.CollectT) {
		_, err := client.BatchV1().Jobs(ns).Get(t.Context(), j.Name, metav1.GetOptions{})
		require.True(c, apierrors.IsNotFound(err), "%v", err)
		pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		require.Empty(c, pods.Items)
	})
}

func TestGarbageCollectorFollowsOwners(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	ns := namespace(t, client)
	maps := client.CoreV1().ConfigMaps(ns)
	owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	j := job("owned", map[string]string{kubelet.OutcomeAnnotation: kubelet.Never})
	j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	createJob(t, client, ns, j)
	require.NoError(t, maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}))
	eventually(t, "the Job goes with its owner, and the pod with the Job", func(c *assert.CollectT) {
		_, err := client.BatchV1().Jobs(ns).Get(t.Context(), j.Name, metav1.GetOptions{})
		require.True(c, apierrors.IsNotFound(err), "%v", err)
		pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		require.Empty(c, pods.Items)
	})
}

func TestNamespaceDeletionTakesEverythingInIt(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	ns := namespace(t, client)
	createJob(t, client, ns, job("running", map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}))
	require.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}))
	eventually(t, "the namespace goes", func(c *assert.CollectT) {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
		require.True(c, apierrors.IsNotFound(err), "%v", err)
	})
}

func TestManyJobsAtOnce(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	ns := namespace(t, client)
	const many = 100
	for i := range many {
		createJob(t, client, ns, job(fmt.Sprintf("job-%d", i), nil))
	}
	eventually(t, "all Jobs complete", func(c *assert.CollectT) {
		jobs, err := client.BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		complete := 0
		for _, j := range jobs.Items {
			if condition(&j, batchv1.JobComplete) != nil {
				complete++
			}
		}
		require.Equal(c, many, complete)
	})
}
