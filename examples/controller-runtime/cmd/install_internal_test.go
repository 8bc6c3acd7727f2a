// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// install applies config as its README says, and creates a pod of the
// Deployment on trial: the namespace enforces restricted.
func install(ctx context.Context, t *testing.T, plane *controlplane.ControlPlane) {
	t.Helper()
	apply := exec.CommandContext(ctx, plane.Kubectl(), "apply", "-k", filepath.Join("..", "config"))
	apply.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "KUBECACHEDIR="+t.TempDir())
	out, err := apply.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, plane.InstallCRDs(ctx, filepath.Join("..", "config", "crd")), "it waits until they are served")

	admin := newClient(t, plane.Config())
	var deployment appsv1.Deployment
	require.NoError(t, admin.Get(ctx, client.ObjectKey{Namespace: "task-system", Name: "task-manager"}, &deployment))
	pods := must(kubernetes.NewForConfig(plane.Config()))(t).CoreV1().Pods("task-system")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "trial"}, Spec: deployment.Spec.Template.Spec}
	_, err = pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	pod.Spec.SecurityContext = nil
	_, err = pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.ErrorContains(t, err, "restricted", "the namespace enforces it")
}

// reader reads the metrics of the manager with the tokens of service accounts.
type reader struct {
	client   *http.Client
	base     string
	token    string
	noRights string
}

// readerOfMetrics makes two service accounts and binds one of them to the
// manifest's role.
func readerOfMetrics(ctx context.Context, t *testing.T, config *rest.Config, address string) reader {
	t.Helper()
	clients := must(kubernetes.NewForConfig(config))(t)
	token := func(name string) string {
		accounts := clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
		_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		request, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		require.NoError(t, err)
		return request.Status.Token
	}
	_, err := clients.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "task-manager-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: "prometheus"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	insecure := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the manager signs its own certificate
	t.Cleanup(insecure.CloseIdleConnections)
	return reader{&http.Client{Transport: insecure}, "https://" + address, token("prometheus"), token("anybody")}
}

func (r reader) get(ctx context.Context, t require.TestingT, path string) (code int, page string) {
	return r.as(ctx, t, r.token, path)
}

func (r reader) as(ctx context.Context, t require.TestingT, token, path string) (code int, page string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, http.NoBody)
	require.NoError(t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := r.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// refusesOthers: the instruments are as protected as controller-runtime's own
// metrics.
func refusesOthers(ctx context.Context, t *testing.T, r reader) {
	t.Helper()
	for _, path := range []string{"/metrics", "/metrics/all"} {
		code, page := r.as(ctx, t, "", path)
		assert.Equal(t, http.StatusUnauthorized, code, "%s: without a token", path)
		assert.NotContains(t, page, "controller_", path)
		code, page = r.as(ctx, t, r.noRights, path)
		assert.Equal(t, http.StatusForbidden, code, "%s: without the role", path)
		assert.NotContains(t, page, "controller_", path)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

func TestSynced_FailsUntilTheCacheHasRead(t *testing.T) {
	for has, want := range map[bool]string{false: "the caches have not synced", true: ""} {
		check := synced(&informertest.FakeInformers{Synced: new(has)})
		err := check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
}
