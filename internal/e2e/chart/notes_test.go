// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// TestNotesNameWhatIsRendered: NOTES has the kinds and names of the
// workloads that are rendered, with each switch. helm
// install asks a cluster even for a dry run, and template shows no NOTES, so
// they are rendered as a ConfigMap of a copy of the chart; what a real
// installation prints is checked wherever a test installs.
//
//req:shows R1
func TestNotesNameWhatIsRendered(t *testing.T) {
	const plane, controllers = "deployment/r-agentrun", "deployment/r-agentrun-controllers"
	const canaryPlane, canaryControllers = "rollout/r-agentrun", "rollout/r-agentrun-controllers"
	const alone = "controlPlane: {enabled: false}"
	dir := chartWithNotes(t)
	cases := map[string]struct {
		reason string
		values string
		want   []string
		kept   []string
	}{
		"Off":                {"The default.", "{}", []string{plane, controllers}, nil},
		"Alone":              {"NOTES names no workload that is not installed.", "{" + alone + "}", []string{controllers}, nil},
		"Both":               {"The global switch is for both.", "{progressiveDelivery: {enabled: true}}", []string{canaryPlane, canaryControllers}, nil},
		"ControllersFirst":   {"One workload at a time.", "{controllers: {progressiveDelivery: {enabled: true}}}", []string{plane, canaryControllers}, nil},
		"ControlPlane":       {"Or the other.", "{controlPlane: {progressiveDelivery: {enabled: true}}}", []string{canaryPlane, controllers}, nil},
		"FalseWins":          {"As in the workloads.", "{progressiveDelivery: {enabled: true}, controlPlane: {progressiveDelivery: {enabled: false}}}", []string{plane, canaryControllers}, nil},
		"EmptyIsAbsent":      {"What a workload does not say is taken from the global values.", "{progressiveDelivery: {enabled: true}, controlPlane: {progressiveDelivery: {keepOnSwitch: true}}}", []string{canaryPlane, canaryControllers}, []string{canaryPlane}},
		"BothAlone":          {"A canary that is not installed is none.", "{progressiveDelivery: {enabled: true}, " + alone + "}", []string{canaryControllers}, nil},
		"Keep":               {"Before the switch.", "{progressiveDelivery: {keepOnSwitch: true}}", []string{plane, controllers}, []string{plane, controllers}},
		"KeepOn":             {"After it.", "{progressiveDelivery: {keepOnSwitch: true, enabled: true}}", []string{canaryPlane, canaryControllers}, []string{canaryPlane, canaryControllers}},
		"KeepControllers":    {"One of them.", "{controllers: {progressiveDelivery: {keepOnSwitch: true}}}", []string{plane, controllers}, []string{controllers}},
		"KeepAlone":          {"Only an installed workload is kept.", "{progressiveDelivery: {keepOnSwitch: true}, " + alone + "}", []string{controllers}, []string{controllers}},
		"KeepPlaneAlone":     {"Nor by its own switch.", "{controlPlane: {enabled: false, progressiveDelivery: {keepOnSwitch: true, enabled: true}}}", []string{controllers}, nil},
		"NoMetrics":          {"No Service is named that is not there.", "{metrics: {enabled: false}}", []string{plane, controllers}, nil},
		"NoService":          {"Nor where another Service is used.", "{metrics: {service: {enabled: false}}}", []string{plane, controllers}, nil},
		"OtherNames":         {"The names of the values are used.", "{fullnameOverride: agents, controllers: {progressiveDelivery: {enabled: true}}}", []string{"deployment/agents", "rollout/agents-controllers"}, nil},
		"KeepControllersOff": {"False is a value.", "{progressiveDelivery: {keepOnSwitch: true}, controllers: {progressiveDelivery: {keepOnSwitch: false}}}", []string{plane, controllers}, []string{plane}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := runHelm(t, "template", "r", dir, "--namespace=ns", kubeVersion, "--values="+valuesFile(t, both), "--values="+valuesFile(t, tc.values))
			require.NoError(t, err)
			all := parse(t, out)
			shown := all.one(t, "ConfigMap/notes")
			delete(all, "ConfigMap/notes")
			text, _, err := unstructured.NestedString(shown.Object, "data", "text")
			require.NoError(t, err)
			assert.ElementsMatch(t, tc.want, rendered(all, every), tc.reason)
			assert.ElementsMatch(t, tc.kept, rendered(all, kept), tc.reason)
			assertNotes(t, text, "ns", all)
		})
	}
}

// chartWithNotes is a copy of the chart that renders its NOTES as a ConfigMap
// too.
func chartWithNotes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(chartDir)))
	require.NoError(t, os.Rename(filepath.Join(dir, "templates", "NOTES.txt"), filepath.Join(dir, "notes.txt")))
	const show = `apiVersion: v1
kind: ConfigMap
metadata:
  name: notes
data:
  text: {{ tpl (.Files.Get "notes.txt") . | quote }}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "templates", "notes.yaml"), []byte(show), 0o600))
	return dir
}

// assertNotes: every name in NOTES is of an object that is rendered, every
// workload that is rendered is named, and each promise about one (a canary,
// kept) is made where it holds.
func assertNotes(t *testing.T, notes, namespace string, all objects) {
	t.Helper()
	find := func(pattern string) []string {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(notes, -1) {
			found[m[1]] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	rollout := func(u *unstructured.Unstructured) bool { return u.GetKind() == "Rollout" }
	const workload = `((?:deployment|rollout)/[a-z0-9-]+)`
	assert.Equal(t, rendered(all, every), find(workload), notes)
	assert.Equal(t, rendered(all, rollout), find("^"+workload+" is a canary"), notes)
	assert.Equal(t, rendered(all, kept), find("^"+workload+" is kept"), notes)
	for _, command := range []string{"get rollout", "promote"} {
		names := find("^  kubectl argo rollouts --namespace " + namespace + " " + command + " ([a-z0-9-]+)$")
		for i := range names {
			names[i] = "rollout/" + names[i]
		}
		assert.Equal(t, rendered(all, rollout), names, notes)
	}
	var services []string
	for key, u := range all {
		if u.GetKind() == "Service" && strings.HasSuffix(u.GetName(), "-metrics") {
			services = append(services, strings.ToLower(strings.Replace(key, "Service/", "svc/", 1)))
		}
	}
	assert.Equal(t, services, find("port-forward (svc/[a-z0-9-]+) "), notes)

	// The logs are asked of the workload that reconciles, or where kubectl does
	// not know its kind, of its pods.
	reconciling := find("^AgentRuns are run as Jobs in .* by " + workload + `\.$`)
	require.Len(t, reconciling, 1, notes)
	if kind, _, _ := strings.Cut(reconciling[0], "/"); kind == "deployment" {
		assert.Equal(t, reconciling, find("logs "+workload+"$"), notes)
		return
	}
	selectors := find("logs --selector (.*)$")
	require.Len(t, selectors, 1, notes)
	selector, err := labels.Parse(selectors[0])
	require.NoError(t, err)
	for _, u := range all {
		if u.GetKind() != "Deployment" && u.GetKind() != "Rollout" {
			continue
		}
		pod, _, err := unstructured.NestedStringMap(u.Object, "spec", "template", "metadata", "labels")
		require.NoError(t, err)
		assert.Equal(t, slices.Contains(reconciling, workloadName(u)), selector.Matches(labels.Set(pod)), notes)
	}
}

// rendered are the workloads that hold, as kubectl names them.
func rendered(all objects, holds func(*unstructured.Unstructured) bool) []string {
	var names []string
	for _, u := range all {
		if (u.GetKind() == "Deployment" || u.GetKind() == "Rollout") && holds(u) {
			names = append(names, workloadName(u))
		}
	}
	slices.Sort(names)
	return names
}

func workloadName(u *unstructured.Unstructured) string {
	return strings.ToLower(u.GetKind()) + "/" + u.GetName()
}

func every(*unstructured.Unstructured) bool { return true }

func kept(u *unstructured.Unstructured) bool {
	return u.GetAnnotations()["helm.sh/resource-policy"] == "keep"
}
