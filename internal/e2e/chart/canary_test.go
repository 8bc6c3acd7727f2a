// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/settings"
)

// workloads are the names of the two, and where their values are.
var workloads = map[string]string{"r-agentrun": "controlPlane", "r-agentrun-controllers": "controllers"}

// manySteps have weights that make few and many canary pods.
const manySteps = "{setWeight: 1}, {pause: {}}, {setWeight: 10}, {pause: {}}, {setWeight: 20}, {pause: {}}, {setWeight: 25}, {pause: {}}, " +
	"{setWeight: 33}, {pause: {}}, {setWeight: 50}, {pause: {}}, {setWeight: 75}, {pause: {}}, {setWeight: 90}, {pause: {}}, {setWeight: 99}, {pause: {}}"

// TestOnIsConvertOfOff: the switch changes what rollout.Convert changes, field
// by field, and the kind that the HPA scales; nothing else.
//
//req:shows R2
func TestOnIsConvertOfOff(t *testing.T) {
	cases := map[string]struct {
		reason string
		values string
	}{
		"Defaults":    {"The safe canary.", "{}"},
		"Steps":       {"Steps of every form.", "progressiveDelivery: {canarySteps: [{setWeight: 1}, {pause: {duration: 1}}, {setWeight: 50}, {pause: {duration: 10m}}, {setWeight: 99}, {pause: {}}]}"},
		"Empty":       {"No steps mean the safe ones.", "progressiveDelivery: {canarySteps: []}"},
		"Fences":      {"Numbers and percentages.", `{controllers: {replicaCount: 10, strategy: {maxSurge: "30%", maxUnavailable: "10%"}}, controlPlane: {strategy: {maxSurge: 2, maxUnavailable: 1}}}`},
		"One":         {"One pod and its canary.", "controllers: {replicaCount: 1}"},
		"Autoscaling": {"An HPA owns the replicas of both.", "{controllers: {autoscaling: {enabled: true}}, controlPlane: {autoscaling: {enabled: true}}}"},
		"Keep":        {"Annotations stay.", "{progressiveDelivery: {keepOnSwitch: true}, controllers: {annotations: {a: b}, podAnnotations: {c: d}}}"},
		"Timing":      {"What both kinds have.", "controllers: {minReadySeconds: 5, progressDeadlineSeconds: 60, revisionHistoryLimit: 0}"},
	}
	for name, values := range ciFiles(t) {
		if name != "small" && name != "agents" { // they have no canary: one pod without election, and no pods
			cases["ci/"+name] = struct{ reason, values string }{"Everything that CI renders.", values}
		}
	}
	for _, replicas := range []int{1, 2, 3, 5, 10} {
		for _, fences := range []string{"{maxSurge: 1, maxUnavailable: 0}", `{maxSurge: "1%", maxUnavailable: "100%"}`, `{maxSurge: "100%", maxUnavailable: 0}`, "{maxSurge: 5, maxUnavailable: 3}"} {
			cases[fmt.Sprint(replicas, fences)] = struct{ reason, values string }{
				"No canary that the schema accepts has an error.",
				fmt.Sprintf("{progressiveDelivery: {canarySteps: [%s]}, controllers: {replicaCount: %d, strategy: %s}}", manySteps, replicas, fences),
			}
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apis := []string{"--api-versions=" + monitorAPI, "--api-versions=" + ruleAPI, "--api-versions=" + rolloutAPI}
			on := render(t, tc.values, append(apis, setBoth(true)...)...)
			off := render(t, tc.values, append(apis, setBoth(false)...)...)
			rollouts := 0
			for key, was := range off {
				switch was.GetKind() {
				case "Deployment":
					rollouts++
					is := on.one(t, "Rollout/"+strings.TrimPrefix(key, "Deployment/"))
					assert.NotContains(t, on, key)
					assertConverted(t, was, is, tc.values)
				case "HorizontalPodAutoscaler":
					is := on.one(t, key).DeepCopy()
					ref, _, err := unstructured.NestedStringMap(is.Object, "spec", "scaleTargetRef")
					require.NoError(t, err)
					assert.Equal(t, map[string]string{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": was.GetName()}, ref)
					require.NoError(t, unstructured.SetNestedStringMap(is.Object,
						map[string]string{"apiVersion": "apps/v1", "kind": "Deployment", "name": was.GetName()}, "spec", "scaleTargetRef"))
					assert.Equal(t, was.Object, is.Object)
				default:
					assert.Equal(t, was.Object, on.one(t, key).Object, "no other object changes")
				}
			}
			assert.Equal(t, 2, rollouts)
			assert.Len(t, on, len(off))
		})
	}
}

// setBoth switches both workloads, over the values.
func setBoth(on bool) []string {
	return []string{
		fmt.Sprintf("--set=controllers.progressiveDelivery.enabled=%t", on), fmt.Sprintf("--set=controlPlane.progressiveDelivery.enabled=%t", on),
	}
}

// assertConverted: package rollout makes is from was, with the steps of the
// values as package settings reads them.
func assertConverted(t *testing.T, was, is *unstructured.Unstructured, values string) {
	t.Helper()
	d := into[appsv1.Deployment](t, was)
	s, errs := settings.FromValues(progressiveDelivery(t, values, was.GetName()))
	require.Empty(t, errs)
	o := s.Options
	o.MaxSurge, o.MaxUnavailable = d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable
	o.OmitReplicas = d.Spec.Replicas == nil
	want, errs := rollout.Convert(d, o)
	require.Empty(t, errs)
	assert.Empty(t, rollout.Validate(is), "nothing that the controller would refuse, or not carry out")

	// What is compared is what a typed client sends of either: zero is unset to
	// both.
	wantYAML, err := yaml.Marshal(want)
	require.NoError(t, err)
	isYAML, err := yaml.Marshal(into[rollout.Rollout](t, is))
	require.NoError(t, err)
	assert.YAMLEq(t, string(wantYAML), string(isYAML))

	// And as rendered: outside of the strategy not even a zero is added or
	// lost.
	a, b := was.DeepCopy(), is.DeepCopy()
	for _, u := range []*unstructured.Unstructured{a, b} {
		delete(u.Object, "apiVersion")
		delete(u.Object, "kind")
		unstructured.RemoveNestedField(u.Object, "spec", "strategy")
	}
	assert.Equal(t, a.Object, b.Object)
}

// progressiveDelivery is what the values mean for a workload: its own keys over
// the global ones.
func progressiveDelivery(t *testing.T, values, workload string) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(values), &v))
	of := "controlPlane"
	if strings.HasSuffix(workload, "-controllers") {
		of = "controllers"
	}
	all := map[string]any{}
	for _, path := range [][]string{{"progressiveDelivery"}, {of, "progressiveDelivery"}} {
		m, _, err := unstructured.NestedMap(v, path...)
		require.NoError(t, err)
		maps.Copy(all, m)
	}
	return all
}

// TestOffIsTheSameWhetherTheAPIIsKnownOrNot: to the byte, with any other
// settings of the canary.
//
//req:shows R1
func TestOffIsTheSameWhetherTheAPIIsKnownOrNot(t *testing.T) {
	want, err := template(t, "{}")
	require.NoError(t, err)
	known := append(clusterAPIs(), "--api-versions="+rolloutAPI)
	for name, args := range map[string][]string{"cluster without": clusterAPIs(), "cluster with": known, "offline with": {"--api-versions=" + rolloutAPI}} {
		for _, values := range []string{"{}", "progressiveDelivery: {crdCheck: fail, canarySteps: [{setWeight: 5}, {pause: {}}]}"} {
			is, err := template(t, values, args...)
			require.NoError(t, err, name)
			assert.Equal(t, want, is, name)
		}
	}
}

// clusterAPIs is how helm knows a cluster's APIs: with their kinds.
func clusterAPIs() []string {
	return []string{"--api-versions=apps/v1/Deployment", "--api-versions=argoproj.io/v1alpha1", "--api-versions=argoproj.io/v1alpha1/Workflow"}
}

//req:shows R4
func TestCRDCheck(t *testing.T) {
	const on = "controllers: {progressiveDelivery: {enabled: true, crdCheck: %s}}"
	with := append(clusterAPIs(), "--api-versions="+rolloutAPI)
	cases := map[string]struct {
		reason string
		check  string
		args   []string
		says   string // empty: rendered
	}{
		"AutoOffline":     {"Without a cluster the kinds are not known.", "auto", nil, ""},
		"AutoGroupOnly":   {"The group alone, named by hand, is not the kind, and does not show a cluster.", "auto", []string{"--api-versions=argoproj.io/v1alpha1"}, ""},
		"AutoWithout":     {"The cluster serves Workflows of the same version, and no Rollouts.", "auto", clusterAPIs(), "which the cluster does not serve"},
		"AutoWith":        {"Served.", "auto", with, ""},
		"FailOffline":     {"Nothing is assumed.", "fail", nil, "--api-versions argoproj.io/v1alpha1/Rollout"},
		"FailGroupOnly":   {"Argo CD and Argo Workflows serve that version too.", "fail", []string{"--api-versions=argoproj.io/v1alpha1"}, "argoproj.io/v1alpha1/Rollout"},
		"FailOfflineWith": {"The flag names the kind.", "fail", []string{"--api-versions=" + rolloutAPI}, ""},
		"FailWithout":     {"Not served.", "fail", clusterAPIs(), "which the cluster does not serve"},
		"FailWith":        {"Served.", "fail", with, ""},
		"SkipOffline":     {"Not asked.", "skip", nil, ""},
		"SkipWithout":     {"Not asked, even where it is known to be missing.", "skip", clusterAPIs(), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := template(t, fmt.Sprintf(on, tc.check), tc.args...)
			if tc.says == "" {
				require.NoError(t, err, tc.reason)
				parse(t, out).one(t, "Rollout/r-agentrun-controllers")
				return
			}
			require.Error(t, err, tc.reason)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, "controllers.progressiveDelivery.enabled", "it says what to change")
			assert.NotContains(t, out, "kind: Deployment", "nothing falls back to a Deployment")
		})
	}
}

// TestKeepOnSwitch: helm and Argo CD leave what they no longer find in the
// chart, so that old and new overlap. Options of the user for Argo CD stay.
func TestKeepOnSwitch(t *testing.T) {
	all := render(t, "{progressiveDelivery: {keepOnSwitch: true}, controllers: {annotations: {argocd.argoproj.io/sync-options: Prune=false}}}")
	for name, options := range map[string]string{"r-agentrun": "PruneLast=true", "r-agentrun-controllers": "Prune=false,PruneLast=true"} {
		want := map[string]string{"helm.sh/resource-policy": "keep", "argocd.argoproj.io/sync-options": options}
		assert.Equal(t, want, all.one(t, "Deployment/"+name).GetAnnotations())
	}
}

// TestSelectors: PDBs and workloads select the same pods, and no two workloads
// each other's. The switch does not change them.
//
//req:shows R2
func TestSelectors(t *testing.T) {
	all := render(t, "{controllers: {podDisruptionBudget: {enabled: true}, podLabels: {a: b}}, controlPlane: {podDisruptionBudget: {enabled: true}}}")
	var selectors []*metav1.LabelSelector
	for name := range workloads {
		d := into[appsv1.Deployment](t, all.one(t, "Deployment/"+name))
		selectors = append(selectors, d.Spec.Selector)
		assert.Subset(t, d.Spec.Template.Labels, d.Spec.Selector.MatchLabels)
		assert.Equal(t, d.Spec.Selector, into[policyv1.PodDisruptionBudget](t, all.one(t, "PodDisruptionBudget/"+name)).Spec.Selector)
	}
	assert.NotEqual(t, selectors[0], selectors[1])
}
