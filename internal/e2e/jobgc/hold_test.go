// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// terminate deletes the stage's namespace.
func (s *stage) terminate(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Kube.CoreV1().Namespaces().Delete(t.Context(), s.Namespace, metav1.DeleteOptions{}))
}

// terminated waits until it is gone.
func (s *stage) terminated(t *testing.T) {
	t.Helper()
	suite.Eventually(t, "the namespace is gone", func(context.Context) bool {
		_, err := s.Kube.CoreV1().Namespaces().Get(t.Context(), s.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// Without the controller a held Job keeps its namespace forever. The documented
// commands free it, and change no other Job.
//
//req:shows J4
func TestHoldRecoveryWithKubectl(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const ours = "recovery.e2e.controllerkit.dev/result" // of this test alone: the commands work in all namespaces
	c := s.controller(t, jobgc.Options{Finalizer: ours})
	finished := c.ensured(t, "finished", func(j *batchv1.Job) { j.Finalizers = []string{"example.com/theirs"} })
	c.ensured(t, "running", never())
	c.until(t, finished, jobgc.Finished)
	other := newStage(t, "other")
	other.controller(t, jobgc.Options{Finalizer: finalizer}).ensured(t, "other", suspended())
	c.stop()
	s.terminate(t)
	suite.Eventually(t, "the namespace is stuck", func(context.Context) bool {
		ns, err := s.Kube.CoreV1().Namespaces().Get(t.Context(), s.Namespace, metav1.GetOptions{})
		require.NoError(t, err)
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceFinalizersRemaining && c.Status == corev1.ConditionTrue {
				return strings.Contains(c.Message, ours)
			}
		}
		return false
	})
	_, err := s.jobs.Create(t.Context(), s.job("late"), metav1.CreateOptions{})
	require.True(t, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), "%v", err)

	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "operate", "release-holds.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1)
	require.Len(t, blocks, 1, "one recipe")
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", string(blocks[0][1]))
	cmd.Env = []string{
		"PATH=" + filepath.Dir(plane.Kubectl()) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + t.TempDir(), "KUBECONFIG=" + plane.Kubeconfig(), "FINALIZER=" + ours,
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "job.batch/finished patched")
	assert.Contains(t, string(out), "job.batch/running patched")
	assert.Equal(t, []string{"example.com/theirs"}, s.live(t, "finished").Finalizers, "the finalizers of others stay")
	assert.Contains(t, other.live(t, "other").Finalizers, finalizer)
	s.patch(t, "finished", `{"metadata":{"finalizers":null}}`)
	s.terminated(t)
}

// What the package says about rights is exact: with
// OwnerReferencesPermissionEnforcement on, as here, update on the owner's
// finalizers subresource is needed, and nothing more.
func TestHoldRights(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	user := "holds." + s.Namespace
	config, err := plane.User(user)
	require.NoError(t, err)
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	g, err := jobgc.NewUncached(kube.BatchV1().Jobs, jobgc.Options{Finalizer: finalizer})
	require.NoError(t, err)
	grant := func(group, resource string, verbs ...string) {
		rule := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
		require.NoError(t, rbac.Grant(t.Context(), s.Kube, s.Namespace, user+"."+verbs[0], user, rule))
	}
	grant("batch", "jobs", "create", "get", "patch", "list", "watch")
	_, err = s.ensure(t.Context(), g, s.job("job"))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "blockOwnerDeletion")
	grant("", "configmaps/finalizers", "update")
	ref, err := s.ensure(t.Context(), g, s.job("job"))
	require.NoError(t, err)
	suite.Eventually(t, "it has finished", func(ctx context.Context) bool {
		_, f, err := s.step(ctx, g, jobgc.Request{Ref: &ref})
		require.NoError(t, err)
		ref.Outcome = f.Outcome
		return f.State == jobgc.Finished
	})
	require.NoError(t, s.release(t.Context(), g, ref, jobgc.Retention{SucceededTTL: time.Hour}))
	assert.NotContains(t, s.live(t, "job").Finalizers, finalizer)
}
