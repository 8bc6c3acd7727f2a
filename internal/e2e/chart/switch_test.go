// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/rollout"
)

// TestTheSwitchOnARealCluster: helm asks the cluster whether it has Rollouts;
// with keepOnSwitch both workloads overlap until a person deletes the old one,
// without it the Deployment goes immediately; and a strict API server with the
// real CRDs accepts every rendered object.
//
//req:shows R4
func TestTheSwitchOnARealCluster(t *testing.T) {
	stage := newStage(t, "switch")
	const on, keep = "enabled: true", "keepOnSwitch: true"
	values := func(settings string) string {
		return "{metrics: {dashboards: {enabled: false}}, controlPlane: {enabled: false}, controllers: {progressiveDelivery: {" + settings + "}}}"
	}
	install(t, stage, values(keep))
	_, err := runHelm(t, "upgrade", "r", chartDir, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+stage.Namespace, "--values="+valuesFile(t, values(on+", "+keep)))
	require.ErrorContains(t, err, "which the cluster does not serve")
	require.ErrorContains(t, err, "controllers.progressiveDelivery.enabled")

	crds, err := crdFiles()
	require.NoError(t, err)
	require.NoError(t, cluster.InstallCRDs(t.Context(), crds...))
	client, err := dynamic.NewForConfig(cluster.Config())
	require.NoError(t, err)
	rollouts := client.Resource(rollout.GVK().GroupVersion().WithResource("rollouts")).Namespace(stage.Namespace)
	deployments := stage.Kube.AppsV1().Deployments(stage.Namespace)
	const name = "r-agentrun-controllers"

	install(t, stage, values(on+", "+keep))
	_, err = rollouts.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	_, err = deployments.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err, "the Deployment was removed while the Rollout had no pods yet")
	require.NoError(t, deployments.Delete(t.Context(), name, metav1.DeleteOptions{}))

	install(t, stage, values(on)) // the last step: the Rollout is Helm's again
	r, err := rollouts.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, r.GetAnnotations()["helm.sh/resource-policy"])

	install(t, stage, values("enabled: false")) // the naive return, which the README warns of
	_, err = rollouts.Get(t.Context(), name, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)

	for _, namespace := range []string{"ns", "team-a", "team-b", "monitoring"} {
		newStage(t, namespace)
	}
	for file, values := range ciFiles(t) {
		out, err := template(t, values)
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), cluster.Kubectl(), "--kubeconfig="+cluster.Kubeconfig(), "apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename=-")
		cmd.Env, cmd.Stdin = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + helm.home}, bytes.NewReader([]byte(out))
		answer, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", file, answer)

		// And helm installs it.
		namespace := "ci-" + strings.TrimSuffix(filepath.Base(file), "-values.yaml")
		newStage(t, namespace)
		_, err = runHelm(t, "install", "r", chartDir, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+namespace, "--values="+valuesFile(t, values))
		require.NoError(t, err, file)
	}
}
