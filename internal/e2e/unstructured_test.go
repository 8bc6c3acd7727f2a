// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/examples/unstructured/backup"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// TestSomebodyElsesCRD runs the controller of examples/unstructured with its
// role, on a CRD with other field names. At first it may not patch the status,
// and the Backup's Events report that. Then it may: one Job runs, and its times
// are in those fields.
//
//req:shows S5
func TestSomebodyElsesCRD(t *testing.T) {
	const user = "backup-controller"
	t.Parallel()
	require.NoError(t, plane.InstallCRDs(t.Context(), filepath.Join("..", "..", "examples", "unstructured", "crd.yaml")))
	stage := plane.NewStage(t)

	raw, err := os.ReadFile(filepath.Join("..", "..", "examples", "unstructured", "role.yaml"))
	require.NoError(t, err)
	var full rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(raw, &full))
	less := full.DeepCopy()
	less.Rules = slices.DeleteFunc(less.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "backups/status") })
	require.Len(t, less.Rules, len(full.Rules)-1)
	_, err = stage.Kube.RbacV1().ClusterRoles().Create(t.Context(), less, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = plane.Admin.Run(t.Context(), nil, "create", "clusterrolebinding", user, "--clusterrole="+full.Name, "--user="+user)
	require.NoError(t, err)

	config, err := plane.User(user)
	require.NoError(t, err)
	controller, err := newBackupController(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- controller.Start(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })

	dyn, err := dynamic.NewForConfig(plane.Config())
	require.NoError(t, err)
	backups := dyn.Resource(schema.GroupVersionResource{Group: "backups.example.org", Version: "v1", Resource: "backups"}).Namespace(stage.Namespace)
	made, err := backups.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "backups.example.org/v1", "kind": "Backup", "metadata": map[string]any{"name": "nightly"},
		"spec": map[string]any{"image": "example.com/backup:1"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := stage.Kube.EventsV1().Events(stage.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.uid=" + string(made.GetUID())})
		require.NoError(c, err)
		require.NotEmpty(c, list.Items)
		assert.Equal(c, "Forbidden", list.Items[0].Reason)
		assert.Contains(c, list.Items[0].Note, "backups/status")
	}, time.Minute, 100*time.Millisecond, "an Event reports the failure")

	_, err = stage.Kube.RbacV1().ClusterRoles().Update(t.Context(), &full, metav1.UpdateOptions{})
	require.NoError(t, err)
	var done map[string]any
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		u, err := backups.Get(t.Context(), "nightly", metav1.GetOptions{})
		require.NoError(c, err)
		done, _, _ = unstructured.NestedMap(u.Object, "status")
		require.Equal(c, "Completed", done["phase"])
	}, 2*time.Minute, 100*time.Millisecond)

	jobs, err := stage.Kube.BatchV1().Jobs(stage.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, jobs.Items, 1, "one Job, also after many refused writes of the status")
	job := jobs.Items[0]
	// The Job controller reads the clock again for its condition, which may be
	// a second after status.completionTime (enactJobFinished).
	complete := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete })
	require.GreaterOrEqual(t, complete, 0)
	assert.Equal(t, map[string]any{
		"phase": "Completed", "observedGeneration": int64(1), "job": map[string]any{"name": job.Name, "uid": string(job.UID)},
		"startTime":      job.Status.StartTime.UTC().Format(time.RFC3339),
		"completionTime": job.Status.Conditions[complete].LastTransitionTime.UTC().Format(time.RFC3339),
	}, done)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		job, err := stage.Kube.BatchV1().Jobs(stage.Namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
		require.NoError(c, err)
		require.NotNil(c, job.Spec.TTLSecondsAfterFinished)
		assert.GreaterOrEqual(c, *job.Spec.TTLSecondsAfterFinished, int32(600), "released, with a TTL of ten minutes from now")
	}, time.Minute, 100*time.Millisecond)

	require.NoError(t, stop(), "no Event was lost")
}

func newBackupController(config *rest.Config) (*backup.Controller, error) {
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	cs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return nil, err
	}
	m, err := metrics.New(endpoint, metrics.Options{})
	if err != nil {
		return nil, err
	}
	return backup.New(dyn, cs, cs, m)
}
