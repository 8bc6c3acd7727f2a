// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/examples/unstructured/backup"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

const nightly = `
apiVersion: backups.example.org/v1
kind: Backup
metadata: {name: nightly}
spec: {image: "example.com/backup:1"}
`

// TestSomebodyElsesCRD runs the controller of examples/unstructured with its
// role, on a CRD with other field names. At first it may not patch the status,
// and the Backup's Events report that. Then it may: one Job runs, and its times
// are in those fields.
//
//req:shows S5
func TestSomebodyElsesCRD(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "examples", "unstructured")
	require.NoError(t, plane.InstallCRDs(t.Context(), filepath.Join(example, "crd.yaml")))
	stage := plane.NewStage(t)
	kubectl := func(stdin string, args ...string) string {
		out, err := plane.Admin.Run(t.Context(), []byte(stdin), append([]string{"--namespace=" + stage.Namespace}, args...)...)
		require.NoError(t, err)
		return out
	}
	role, err := os.ReadFile(filepath.Join(example, "role.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(role), "[backups/status]")
	kubectl(strings.Replace(string(role), "[backups/status]", "[backups/none]", 1), "apply", "-f", "-")
	kubectl("", "create", "clusterrolebinding", "backup-controller", "--clusterrole=backup-controller", "--user=backup-controller")

	config, err := plane.User("backup-controller")
	require.NoError(t, err)
	dyn, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	controller, err := backup.New(dyn, kube, kube, nil)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- controller.Start(ctx) }()
	kubectl(nightly, "apply", "-f", "-")

	suite.Eventually(t, "an Event reports the failure", func(ctx context.Context) bool {
		list, err := stage.Kube.EventsV1().Events(stage.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Forbidden"})
		require.NoError(t, err)
		return len(list.Items) > 0 && strings.Contains(list.Items[0].Note, "backups/status")
	})
	kubectl(string(role), "apply", "-f", "-")
	kubectl("", "wait", "--for=jsonpath={.status.phase}=Completed", "--timeout=2m", "backup/nightly")
	jobs := stage.Kube.BatchV1().Jobs(stage.Namespace)
	list, err := jobs.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1, "one Job, also after many refused writes of the status")
	job := list.Items[0]
	// The Job controller reads the clock again for its condition, which may be
	// a second after status.completionTime (enactJobFinished).
	complete := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete })
	require.GreaterOrEqual(t, complete, 0)
	want := fmt.Sprintf(`{
		"phase": "Completed", "observedGeneration": 1, "job": {"name": %q, "uid": %q},
		"startTime": %q, "completionTime": %q
	}`, job.Name, job.UID, job.Status.StartTime.UTC().Format(time.RFC3339),
		job.Status.Conditions[complete].LastTransitionTime.UTC().Format(time.RFC3339))
	assert.JSONEq(t, want, kubectl("", "get", "backup/nightly", "-o", "jsonpath={.status}"))
	suite.Eventually(t, "it is released, with a TTL of ten minutes from now", func(ctx context.Context) bool {
		job, err := jobs.Get(ctx, job.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return job.Spec.TTLSecondsAfterFinished != nil && *job.Spec.TTLSecondsAfterFinished >= 600
	})
	stop()
	require.NoError(t, <-ended, "no Event was lost")
}
