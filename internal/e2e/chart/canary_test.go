// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/settings"
)

// workloads are the names of the two, and where their values are.
var workloads = map[string]string{"r-agentrun": "controlPlane", "r-agentrun-controllers": "controllers"}

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
	s, errs := settings.FromValues(progressiveDelivery(t, values, strings.HasSuffix(was.GetName(), "-controllers")))
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
func progressiveDelivery(t *testing.T, values string, controllers bool) map[string]any {
	t.Helper()
	var v struct {
		ProgressiveDelivery map[string]any
		Controllers         struct{ ProgressiveDelivery map[string]any }
		ControlPlane        struct{ ProgressiveDelivery map[string]any }
	}
	require.NoError(t, yaml.Unmarshal([]byte(values), &v))
	all := map[string]any{}
	maps.Copy(all, v.ProgressiveDelivery)
	if controllers {
		maps.Copy(all, v.Controllers.ProgressiveDelivery)
	} else {
		maps.Copy(all, v.ControlPlane.ProgressiveDelivery)
	}
	return all
}

// TestEveryCanaryIsSound: package rollout finds no error in any canary that the
// schema accepts.
func TestEveryCanaryIsSound(t *testing.T) {
	for _, replicas := range []int{1, 2, 3, 5, 10} {
		for _, fences := range []string{"{maxSurge: 1, maxUnavailable: 0}", `{maxSurge: "1%", maxUnavailable: "100%"}`, `{maxSurge: "100%", maxUnavailable: 0}`, "{maxSurge: 5, maxUnavailable: 3}"} {
			t.Run(fmt.Sprint(replicas, fences), func(t *testing.T) {
				t.Parallel()
				var steps []string
				for _, weight := range []int{1, 10, 20, 25, 33, 50, 75, 90, 99} {
					steps = append(steps, fmt.Sprintf("{setWeight: %d}, {pause: {}}", weight))
				}
				all := render(t, fmt.Sprintf("{progressiveDelivery: {enabled: true, crdCheck: skip, canarySteps: [%s]}, controllers: {replicaCount: %d, strategy: %s}}",
					strings.Join(steps, ", "), replicas, fences))
				assert.Empty(t, rollout.Validate(all.one(t, "Rollout/r-agentrun-controllers")))
			})
		}
	}
}

// TestEachWorkloadHasItsOwnSwitch: the controllers first.
//
//req:shows R1
func TestEachWorkloadHasItsOwnSwitch(t *testing.T) {
	cases := map[string]struct {
		reason string
		values string
		want   []string // the Rollouts
	}{
		"Off":              {"The default.", "{}", nil},
		"Both":             {"The global switch is for both.", "progressiveDelivery: {enabled: true, crdCheck: skip}", []string{"r-agentrun", "r-agentrun-controllers"}},
		"ControllersFirst": {"One workload at a time.", "controllers: {progressiveDelivery: {enabled: true, crdCheck: skip}}", []string{"r-agentrun-controllers"}},
		"ControlPlane":     {"Or the other.", "controlPlane: {progressiveDelivery: {enabled: true, crdCheck: skip}}", []string{"r-agentrun"}},
		"FalseWins":        {"A false of the workload is a value.", "{progressiveDelivery: {enabled: true, crdCheck: skip}, controlPlane: {progressiveDelivery: {enabled: false}}}", []string{"r-agentrun-controllers"}},
		"EmptyIsAbsent":    {"What a workload does not say is taken from the global values.", "{progressiveDelivery: {enabled: true, crdCheck: skip}, controlPlane: {progressiveDelivery: {keepOnSwitch: true}}}", []string{"r-agentrun", "r-agentrun-controllers"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := render(t, tc.values)
			var is []string
			for key := range all {
				if name, ok := strings.CutPrefix(key, "Rollout/"); ok {
					is = append(is, name)
				}
			}
			slices.Sort(is)
			assert.Equal(t, tc.want, is, tc.reason)
			for name := range workloads {
				if !slices.Contains(is, name) {
					all.one(t, "Deployment/"+name)
				}
			}
		})
	}
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
// chart, so that old and new overlap.
func TestKeepOnSwitch(t *testing.T) {
	for _, on := range []bool{false, true} {
		for _, keep := range []bool{false, true} {
			all := render(t, fmt.Sprintf("progressiveDelivery: {enabled: %t, crdCheck: skip, keepOnSwitch: %t}", on, keep))
			for name := range workloads {
				kind := "Deployment/"
				if on {
					kind = "Rollout/"
				}
				annotations := all.one(t, kind+name).GetAnnotations()
				if keep {
					assert.Equal(t, map[string]string{"helm.sh/resource-policy": "keep", "argocd.argoproj.io/sync-options": "PruneLast=true"}, annotations)
				} else {
					assert.Empty(t, annotations)
				}
			}
		}
	}
}

// TestSelectorsNeverChange: Services, PDBs and workloads select the same pods,
// and no two workloads each other's.
//
//req:shows R2
func TestSelectorsNeverChange(t *testing.T) {
	off := render(t, "{controllers: {podDisruptionBudget: {enabled: true}, podLabels: {a: b}}, controlPlane: {podDisruptionBudget: {enabled: true}}}")
	selectors := map[string]map[string]string{}
	for name := range workloads {
		d := into[appsv1.Deployment](t, off.one(t, "Deployment/"+name))
		selectors[name] = d.Spec.Selector.MatchLabels
		for key, value := range d.Spec.Selector.MatchLabels {
			assert.Equal(t, value, d.Spec.Template.Labels[key])
		}
		pdb, _, err := unstructured.NestedStringMap(off.one(t, "PodDisruptionBudget/"+name).Object, "spec", "selector", "matchLabels")
		require.NoError(t, err)
		assert.Equal(t, d.Spec.Selector.MatchLabels, pdb)
		for other, selector := range selectors {
			if other != name {
				assert.NotEqual(t, selector, d.Spec.Selector.MatchLabels)
			}
		}
	}
}
