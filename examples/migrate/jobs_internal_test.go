// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/jobgctest"
)

// TestJobs_OfRunsInFlightGoOn: the Job that the code before has created is the
// one that the code after observes, and none is created again.
func TestJobs_OfRunsInFlightGoOn(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		ends   batchv1.JobConditionType // empty: it goes on
		phase  string
	}{
		"Running":   {"The run waits for its Job.", "", "Running"},
		"Succeeded": {"The Job has finished while the controller was replaced.", batchv1.JobComplete, "Succeeded"},
		"Failed":    {"A failed Job has one too.", batchv1.JobFailed, "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &Run{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly", UID: "run-uid"}}
			clients := fake.NewClientset()
			jobgctest.GiveUIDs(clients)
			phase, err := jobsBefore(t.Context(), clients, run)
			require.NoError(t, err)
			require.Equal(t, "Running", phase)
			if tc.ends != "" {
				job, err := clients.BatchV1().Jobs("ns").Get(t.Context(), jobName(run), metav1.GetOptions{})
				require.NoError(t, err)
				job.Status.Conditions = []batchv1.JobCondition{{
					Type: tc.ends, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
				}}
				_, err = clients.BatchV1().Jobs("ns").UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			before, err := jobsBefore(t.Context(), clients, run)
			require.NoError(t, err)
			assert.Equal(t, tc.phase, before, tc.reason)

			after, err := jobsAfter(t.Context(), startGuard(t, clients), newServer(run), run)
			require.NoError(t, err)
			assert.Equal(t, tc.phase, after, tc.reason)
			require.NotNil(t, run.Status.Job)
			assert.Equal(t, jobName(run), run.Status.Job.Name)
			list, err := clients.BatchV1().Jobs("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, list.Items, 1)
		})
	}
}

// startGuard returns a Guard with an informer that has the Jobs of clients.
func startGuard(t *testing.T, clients kubernetes.Interface) *jobgc.Guard {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(clients, 0)
	t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
	guard, err := newGuard(clients, factory)
	require.NoError(t, err)
	factory.Start(ctx.Done())
	synced := factory.Batch().V1().Jobs().Informer().HasSynced
	require.True(t, cache.WaitForCacheSync(ctx.Done(), synced))
	return guard
}

// TestJobs_OfAManager: nothing is asked before the manager starts.
func TestJobs_OfAManager(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	guard, err := newGuardOf(mgr)
	require.NoError(t, err)
	require.NotNil(t, guard)
}

// TestJobs_OfEndedRunsCostNothing: Step makes no request for them after the
// migration, however many there are.
func TestJobs_OfEndedRunsCostNothing(t *testing.T) {
	run := &Run{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly", UID: "run-uid"}}
	run.Status.Phase = "Succeeded"
	job := newJob(run)
	job.UID = "job-uid"
	job.Spec.TTLSecondsAfterFinished = new(int32(600))
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	clients := fake.NewClientset(job)
	live := newServer(run)
	guard := startGuard(t, clients)
	clients.ClearActions()
	for range 2 {
		phase, err := jobsAfter(t.Context(), guard, live, run)
		require.NoError(t, err)
		assert.Equal(t, "Succeeded", phase)
		assert.Nil(t, run.Status.Job)
	}
	assert.Empty(t, clients.Actions())
	assert.Zero(t, live.reads)
}
