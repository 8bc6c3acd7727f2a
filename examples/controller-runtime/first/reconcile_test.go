// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package first_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proompteng/controllerkit/events/eventstest"
	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/examples/controller-runtime/first"
	"github.com/proompteng/controllerkit/status"
)

// TestReconcile_RecordsEachAttempt runs one reconciler through attempts that
// end in different ways, and counts the writes of each.
func TestReconcile_RecordsEachAttempt(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	task := &v1.Task{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1", Generation: 1}}
	writes := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(task).WithStatusSubresource(task).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	recorder := &eventstest.Recorder{Scheme: scheme}
	var failure error
	writer := status.ForClient(c)
	writer.Owned = []string{"Ready"}
	r := &first.TaskReconciler{Client: c, Writer: writer, Events: recorder, Work: func(_ context.Context, task *v1.Task) error {
		ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Done"}
		task.Status.Phase = v1.Succeeded
		if failure != nil {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "StoreDown", failure.Error()
			task.Status.Phase = v1.Running
		}
		status.SetCondition(&task.Status.Conditions, ready, time.Now())
		return failure
	}}

	for _, attempt := range []struct {
		reason string
		err    error
		writes int
		events []string
	}{
		{"A failed attempt writes its status and one Warning.", errors.New("the store is down"), 1, []string{"InternalError"}},
		{"The next attempt succeeds and records the recovery.", nil, 1, []string{"Recovered"}},
		{"Nothing changed: nothing is written.", nil, 0, []string{}},
	} {
		writes, failure = 0, attempt.err
		recorded := len(recorder.Reasons())
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(task)})
		require.ErrorIs(t, err, attempt.err, attempt.reason)
		assert.Equal(t, attempt.writes, writes, attempt.reason)
		assert.Equal(t, attempt.events, recorder.Reasons()[recorded:], attempt.reason)
		stored := new(v1.Task)
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(task), stored))
		assert.Equal(t, int64(1), stored.Status.ObservedGeneration, attempt.reason)
		assert.NotNil(t, stored.Status.UpdatedAt, attempt.reason)
	}

	require.NoError(t, c.Delete(t.Context(), task))
	recorder.Reset()
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(task)})
	require.NoError(t, err, "A deleted Task is not a failure.")
	assert.Empty(t, recorder.Reasons())
}

// TestReconcile_DoesNoWorkOnAnOldCopy: the cache does not show the last write
// of this controller yet.
func TestReconcile_DoesNoWorkOnAnOldCopy(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	task := &v1.Task{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1", Generation: 1}}
	var old *v1.Task
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(task).WithStatusSubresource(task).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if old != nil {
				old.DeepCopyInto(o.(*v1.Task))
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	worked := 0
	r := &first.TaskReconciler{Client: c, Writer: status.ForClient(c), Events: &eventstest.Recorder{Scheme: scheme}, Work: func(_ context.Context, task *v1.Task) error {
		worked++
		task.Status.Phase = v1.Running
		return nil
	}}
	read := new(v1.Task)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(task), read))
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(task)}
	_, err := r.Reconcile(t.Context(), request)
	require.NoError(t, err)
	old = read
	result, err := r.Reconcile(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, time.Second, result.RequeueAfter)
	assert.Equal(t, 1, worked)
	old = nil
	_, err = r.Reconcile(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, 2, worked, "the cache has caught up")
}

// TestSetup_RunsTheManager: the manager asks the API server for the kinds that
// it serves. The answer ends the context, and start then returns.
func TestSetup_RunsTheManager(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		cancel()
		http.NotFound(w, r)
	}))
	defer server.Close()
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	options := ctrl.Options{Scheme: scheme}
	options.Metrics.BindAddress = "0"
	options.Controller.SkipNameValidation = new(true) // this test may run twice in one process
	mgr, err := ctrl.NewManager(&rest.Config{Host: server.URL}, options)
	require.NoError(t, err)
	work := func(context.Context, *v1.Task) error { return errors.New("no Task is there") }
	start, err := first.Setup(mgr, work)
	require.NoError(t, err)

	require.Zero(t, requests.Load(), "Setup sends no request.")
	err = start(ctx)
	assert.Positive(t, requests.Load(), "start ended with %v", err)
}
