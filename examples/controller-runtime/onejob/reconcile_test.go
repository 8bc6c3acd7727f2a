// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package onejob_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/examples/controller-runtime/onejob"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/jobgctest"
)

// TestSetup_NeedsNoAnswerOfTheJobs: the informer of Jobs starts with the
// manager.
func TestSetup_NeedsNoAnswerOfTheJobs(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	require.NoError(t, batchv1.AddToScheme(scheme))
	options := ctrl.Options{Scheme: scheme}
	options.Metrics.BindAddress = "0"
	options.Controller.SkipNameValidation = new(true) // this test may run twice in one process
	options.MapperProvider = func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
		mapper := apimeta.NewDefaultRESTMapper(nil)
		mapper.Add(batchv1.SchemeGroupVersion.WithKind("Job"), apimeta.RESTScopeNamespace)
		return mapper, nil
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, options) // no request is sent to it
	require.NoError(t, err)
	require.NoError(t, onejob.Setup(mgr))
}

// TestReconcile_TakesATaskToItsEnd: every reconcile reads the Job live, because
// the test has no informer.
func TestReconcile_TakesATaskToItsEnd(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	task := &v1.Task{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1"}}
	task.Spec.PodAnnotations = map[string]string{"example.com/team": "a"}
	c := ctrlfake.NewClientBuilder().WithScheme(scheme).WithObjects(task).WithStatusSubresource(task).Build()
	cluster := fake.NewClientset()
	jobgctest.GiveUIDs(cluster)
	guard, err := jobgc.New(cluster.BatchV1().Jobs, nil, jobgc.Options{})
	require.NoError(t, err)
	r := &onejob.Reconciler{Client: c, Live: c, Jobs: guard}
	step := func() string {
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(task)})
		require.NoError(t, err)
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(task), task))
		return task.Status.Phase
	}
	assert.Equal(t, v1.Pending, step())
	jobs := cluster.BatchV1().Jobs("default")
	job, err := jobs.Get(t.Context(), "run-1", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, task.Spec.PodAnnotations, job.Spec.Template.Annotations)
	now := metav1.Now()
	job.Status.StartTime = &now
	job, err = jobs.UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.Running, step())
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	_, err = jobs.UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.Succeeded, step())
	version := task.ResourceVersion
	assert.Equal(t, v1.Succeeded, step())
	assert.Equal(t, version, task.ResourceVersion, "nothing is left to write")
	assert.Equal(t, jobgc.Succeeded, task.Status.Job.Outcome)
}
