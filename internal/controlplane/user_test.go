// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

func TestUserHasTheRightsThatRBACGrants(t *testing.T) {
	cp, admin := start(t)
	ns := namespace(t, admin)
	config, err := cp.User("jane", "readers")
	require.NoError(t, err)
	jane, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)

	_, err = jane.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "a new identity has no rights: %v", err)
	assert.Contains(t, err.Error(), `"jane"`)

	_, err = admin.RbacV1().Roles(ns).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "readers"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the group may list", func(c *assert.CollectT) {
		_, err := jane.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
	})
	_, err = jane.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "and nothing else: %v", err)
}

func TestUserNeedsAName(t *testing.T) {
	cp, _ := start(t)
	_, err := cp.User("")
	assert.Error(t, err)
}

func TestWriteKubeconfigServesOtherPrograms(t *testing.T) {
	cp, _ := start(t)
	config, err := cp.User("jane", "readers")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(path, config))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	cmd := exec.CommandContext(t.Context(), cp.Kubectl(), "--kubeconfig", path, "auth", "whoami")
	cmd.Env = []string{"HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "jane")
	assert.Contains(t, string(out), "readers")
}
