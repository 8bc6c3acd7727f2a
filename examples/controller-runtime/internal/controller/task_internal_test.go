// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proompteng/controllerkit/events"
	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/jobgctest"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
	"github.com/proompteng/controllerkit/status"
)

// rig is a TaskReconciler on fakes.
type rig struct {
	*TaskReconciler

	cluster *fake.Clientset
	page    http.Handler
}

func newRig(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	c := ctrlfake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1.Task{}).WithInterceptorFuncs(funcs).Build()
	cluster := fake.NewClientset()
	jobgctest.GiveUIDs(cluster)
	guard, err := jobgc.NewUncached(cluster.BatchV1().Jobs, jobgc.Options{})
	require.NoError(t, err)
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	measured := m.Controller("task")
	recorder, err := events.New(events.NewSink(cluster.EventsV1().Events, cluster.CoreV1().Events), Name, events.Options{Scheme: scheme})
	require.NoError(t, err)
	writer := status.ForClient(c)
	writer.Owned = []string{"Ready"}
	return &rig{&TaskReconciler{Client: c, Live: c, Events: recorder, Jobs: guard, Metrics: measured, Runs: measured.Runs(), Writer: writer}, cluster, endpoint}
}

// requireCounted requires that one reconcile was counted, with this result.
func (r *rig) requireCounted(t *testing.T, result string) {
	t.Helper()
	page := httptest.NewRecorder()
	r.page.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	counted := regexp.MustCompile(`\ncontroller_reconciles_total{.*result="(.*)"} [1-9].*\n`).FindAllStringSubmatch(page.Body.String(), -1)
	require.Len(t, counted, 1)
	assert.Equal(t, result, counted[0][1])
}

func request() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "a"}}
}

func newTask() *v1.Task {
	return &v1.Task{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1", Generation: 1}, Spec: v1.TaskSpec{Image: "x"}}
}

func TestADeletedTask_IsASuccess(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	_, err := r.Reconcile(t.Context(), request())
	require.NoError(t, err)
	r.requireCounted(t, "success")
}

func TestAFailedRead_IsAnError(t *testing.T) {
	broken := errors.New("the cache is broken")
	r := newRig(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return broken
	}})
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorIs(t, err, broken)
	r.requireCounted(t, "error")
}

func TestARefusedJob_IsInTheStatus(t *testing.T) {
	task := newTask()
	r := newRig(t, interceptor.Funcs{}, task)
	r.cluster.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(batchv1.Resource("jobs"), "run-1", errors.New("exceeded quota: jobs, password=canary-5f1d7c2e9b"))
	})
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "exceeded quota")
	require.NoError(t, r.Get(t.Context(), request().NamespacedName, task))
	assert.EqualValues(t, 1, task.Status.ObservedGeneration)
	assert.Equal(t, v1.Pending, task.Status.Phase)
	require.Len(t, task.Status.Conditions, 1)
	assert.Contains(t, task.Status.Conditions[0].Message, "exceeded quota")
	assert.NotContains(t, task.Status.Conditions[0].Message, "canary")
	r.requireCounted(t, "terminal_error")
}
