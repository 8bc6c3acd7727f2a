// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestTheSwitchOnARealCluster: helm asks the cluster whether it has Rollouts;
// with keepOnSwitch both workloads overlap until a person deletes the old one,
// without it the Deployment goes immediately; and a strict API server with the
// real CRDs accepts every rendered object.
//
//req:shows R2 R4
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

	require.NoError(t, cluster.InstallCRDs(t.Context(), crdFiles(t)...))
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

	install(t, stage, values(on))
	helmTakesOver(t, stage.Namespace, rollouts, deployments, values("enabled: false"))

	t.Run("EveryCIFile", everyCIFile)
}

// helmTakesOver: a plan goes back to the rendered Deployment, which has none of
// Helm's annotations. The next upgrade takes over what the plan created.
func helmTakesOver(t *testing.T, namespace string, rollouts dynamic.ResourceInterface, deployments typedappsv1.DeploymentInterface, off string) {
	t.Helper()
	const name = "r-agentrun-controllers"
	out, err := runHelm(t, "template", "r", chartDir, "--namespace="+namespace, kubeVersion, "--values="+valuesFile(t, off))
	require.NoError(t, err)
	live, err := rollouts.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	p, errs := plan.Rollback(live, into[appsv1.Deployment](t, parseIn(t, namespace, out).one(t, "Deployment/"+name)), nil, plan.Options{
		AllowTemplateChange: true, // no controller runs here, and the Rollout has no status
	})
	require.Empty(t, errs)

	// Only the step that writes is run.
	var written string
	for _, s := range p.Steps {
		if s.Verb == "apply" {
			written = s.Body
		}
	}
	d := new(appsv1.Deployment)
	require.NoError(t, yaml.UnmarshalStrict([]byte(written), d))
	_, err = deployments.Create(t.Context(), d, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, rollouts.Delete(t.Context(), name, metav1.DeleteOptions{}))
	_, err = runHelm(t, "upgrade", "r", chartDir, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+namespace, "--values="+valuesFile(t, off))
	require.NoError(t, err)
}

// everyCIFile: a strict API server accepts each object that the files of ci/
// render, and helm installs them. A misspelt word is refused.
func everyCIFile(t *testing.T) {
	for _, namespace := range []string{"ns", "team-a", "team-b", "monitoring"} {
		newStage(t, namespace)
	}
	for file, values := range ciFiles(t) {
		out, err := template(t, values)
		require.NoError(t, err)
		answer, err := strictly(t, out)
		require.NoError(t, err, "%s: %s", file, answer)
		namespace := "ci-" + file
		newStage(t, namespace)
		_, err = runHelm(t, "install", "r", chartDir, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+namespace, "--values="+valuesFile(t, values))
		require.NoError(t, err, file)
	}
	for fault, tc := range map[string]struct{ file, old, with string }{
		"An unknown field of a built-in kind.":   {"default", "minReadySeconds:", "minReadySecondz:"},
		"An unknown field of a custom resource.": {"full", "maxSurge:", "maxSurgee:"},
		"A pattern of a CRD.":                    {"full", "interval: 1m", "interval: soon"},
	} {
		good, err := template(t, ciFiles(t)[tc.file])
		require.NoError(t, err)
		bad := strings.Replace(good, tc.old, tc.with, 1)
		require.NotEqual(t, good, bad, fault)
		_, err = strictly(t, bad)
		assert.Error(t, err, fault)
	}
}

// strictly asks the API server whether it accepts objects as they are.
func strictly(t *testing.T, objects string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cluster.Kubectl(), "--kubeconfig="+cluster.Kubeconfig(), "apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename=-")
	cmd.Env, cmd.Stdin = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + helm.home}, strings.NewReader(objects)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// crdFiles are the CustomResourceDefinitions of what the chart renders for
// others.
func crdFiles(t *testing.T) []string {
	t.Helper()
	rollouts, err := build.ArgoRolloutsSource(t.Context())
	require.NoError(t, err)
	operator, err := build.ModuleDir(t.Context(), filepath.Join("..", "..", "tools"), "github.com/prometheus-operator/prometheus-operator")
	require.NoError(t, err)
	monitoring := filepath.Join(operator, "example", "prometheus-operator-crd", "monitoring.coreos.com_")
	return []string{filepath.Join(rollouts, "manifests", "crds", "rollout-crd.yaml"), monitoring + "servicemonitors.yaml", monitoring + "prometheusrules.yaml"}
}
