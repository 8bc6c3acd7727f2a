// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestTheSwitchOnARealCluster: helm asks the cluster whether it has Rollouts;
// with keepOnSwitch both workloads overlap until a person deletes the old one,
// without it the Deployment goes immediately; and a strict API server with the
// real CRDs accepts every rendered object.
//
//req:shows R2 R4
func TestTheSwitchOnARealCluster(t *testing.T) {
	const namespace, name = "switch", "r-agentrun-controllers"
	newStage(t, namespace)
	ask := func(args ...string) string {
		out, err := kubectl(t, "", append(args, "--namespace="+namespace)...)
		require.NoError(t, err, out)
		return out
	}
	workloads := func() string { return ask("get", "deployments,rollouts", "--output=name") }
	const on, off, keep = "enabled: true", "enabled: false", ", keepOnSwitch: true"
	turn := func(settings string) error {
		return upgrade(t, "r", namespace, "{metrics: {dashboards: {enabled: false}}, controlPlane: {enabled: false}, controllers: {progressiveDelivery: {"+settings+"}}}")
	}
	require.NoError(t, turn(off+keep))
	err := turn(on + keep)
	require.ErrorContains(t, err, "which the cluster does not serve")
	require.ErrorContains(t, err, "controllers.progressiveDelivery.enabled")

	require.NoError(t, cluster.InstallCRDs(t.Context(), crdFiles(t)...))
	const deployment, rollout = "deployment.apps/" + name + "\n", "rollout.argoproj.io/" + name + "\n"
	require.NoError(t, turn(on+keep))
	require.Equal(t, deployment+rollout, workloads(), "the Deployment was removed while the Rollout had no pods yet")
	require.NoError(t, rollBack(t, namespace, "1"))
	require.Equal(t, deployment+rollout, workloads(), "in the middle of the switch helm rollback removes neither")
	require.NoError(t, turn(on+keep))
	ask("delete", "deployment", name)
	require.NoError(t, turn(on)) // the last step: the Rollout is Helm's again
	assert.Empty(t, ask("get", "rollout", name, `--output=jsonpath={.metadata.annotations.helm\.sh/resource-policy}`))

	// A plan goes back to the rendered Deployment, which has none of Helm's
	// annotations. The next upgrade takes over what the plan created. Only the
	// step that writes is run.
	live := parseIn(t, namespace, ask("get", "rollout", name, "--output=yaml")).one(t, "Rollout/"+name)
	out, err := runHelm(t, "template", "r", chartDir, "--namespace="+namespace, kubeVersion)
	require.NoError(t, err)
	to := into[appsv1.Deployment](t, parseIn(t, namespace, out).one(t, "Deployment/"+name))
	p, errs := plan.Rollback(live, to, nil, plan.Options{
		AllowTwoVersions: true, // no controller runs here, and the Rollout has no status
	})
	require.Empty(t, errs)
	for _, step := range p.Steps {
		if step.Verb == "apply" {
			said, err := kubectl(t, step.Body, "--namespace="+namespace, "create", "--filename=-")
			require.NoError(t, err, said)
		}
	}
	ask("delete", "rollout", name)
	require.NoError(t, turn(off))
	require.NoError(t, turn(on))
	require.NoError(t, turn(off)) // the naive return, which the README warns of
	assert.Equal(t, deployment, workloads())
	require.NoError(t, turn(on))
	require.NoError(t, rollBack(t, namespace, "0"))
	assert.Equal(t, deployment, workloads(), "helm rollback is the naive return too")

	t.Run("EveryCIFile", everyCIFile)
	t.Run("Names", everyName)
	t.Run("Releases", fourReleases)
}

// rollBack goes back to a revision of the release, or to the one before for 0.
func rollBack(t *testing.T, namespace, revision string) error {
	t.Helper()
	_, err := runHelm(t, "rollback", "r", revision, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+namespace)
	return err
}

// everyCIFile: a strict API server accepts each object that the files of ci/
// render, and helm installs them.
func everyCIFile(t *testing.T) {
	for _, namespace := range []string{"ns", "team-a", "team-b"} {
		newStage(t, namespace)
	}
	for file, values := range ciFiles(t) {
		out, err := template(t, values)
		require.NoError(t, err)
		answer, err := kubectl(t, out, strictly()...)
		require.NoError(t, err, "%s: %s", file, answer)
		namespace := "ci-" + file
		newStage(t, namespace)
		require.NoError(t, upgrade(t, "r", namespace, values), file)
	}
}

// strictly asks the API server whether it accepts objects as they are.
func strictly() []string {
	return []string{"apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename=-"}
}

// everyName: the API server accepts the names and labels of each release.
func everyName(t *testing.T) {
	for _, namespace := range []string{"123", "2024"} {
		newStage(t, namespace)
	}
	long := strings.Repeat("a", 53)
	for reason, args := range map[string][]string{
		"The longest release that helm takes.": {long, "--namespace=ns"},
		"Long overrides.":                      {long, "--namespace=ns", "--set=fullnameOverride=" + strings.Repeat("b", 60), "--set=nameOverride=" + strings.Repeat("c", 60)},
		"Numbers are DNS labels, and YAML must keep them strings.": {"42", "--namespace=2024", "--values=" + valuesFile(t, `{
  controller: {namespaces: ["123"]}, controllers: {serviceAccount: {name: "1e3"}, pod: {priorityClassName: "100"}},
  metrics: {tls: {secretName: "789"}, dashboards: {enabled: true}, serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}}`)},
	} {
		out, err := runHelm(t, append([]string{"template", chartDir, kubeVersion, "--set=controlPlane.enabled=true", "--name-template"}, args...)...)
		require.NoError(t, err)
		answer, err := kubectl(t, out, strictly()...)
		require.NoError(t, err, "%s: %s", reason, answer)
	}
}

// fourReleases: they share no cluster-scoped object, or helm would refuse the
// second. Two have one name in two namespaces. A hyphen joins the names of two
// alike.
func fourReleases(t *testing.T) {
	for _, r := range [][2]string{{"agentrun", "one"}, {"agentrun", "other"}, {"b-agentrun", "a"}, {"agentrun", "a-b"}} {
		newStage(t, r[1])
		assert.NoError(t, upgrade(t, r[0], r[1], `{controller: {allNamespaces: true}, metrics: {
  serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}}`))
	}
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
