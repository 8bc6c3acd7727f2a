// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func TestMigration_KeepsTheLiveReplicas(t *testing.T) {
	to := converted(t)
	to.Spec.Replicas = ptr.To[int32](3)
	before, deployment := to.DeepCopy(), running()
	for _, m := range []plan.Method{"", plan.SideBySide, plan.Adopt, plan.Reference} {
		p, errs := plan.Migration(deployment, to, nil, plan.Options{Method: m})
		require.Empty(t, errs, m)
		body := written(t, p)
		assert.EqualValues(t, 5, body["spec"].(map[string]any)["replicas"], "%s: not the 3 of the manifest", m)
		assert.NotContains(t, body, "status")
	}
	assert.Equal(t, before, to)
	assert.Equal(t, running(), deployment)
}

// A manifest without replicas must have them at the switch, and keep them when
// it is applied again: measured without the hold, that left one pod of five.
func TestPlan_HoldsOmittedReplicas(t *testing.T) {
	to, errs := rollout.Convert(manifest(), rollout.Options{OmitReplicas: true})
	require.Empty(t, errs)
	back := manifest()
	back.Spec.Replicas = nil
	for _, scaled := range []bool{true, false} {
		for _, m := range []plan.Method{plan.SideBySide, plan.Adopt} {
			var hpas []autoscalingv2.HorizontalPodAutoscaler
			if scaled {
				hpas = append(hpas, scaler("web", "Deployment", "web"))
			}
			there, errs := plan.Migration(running(), to, hpas, plan.Options{Method: m})
			require.Empty(t, errs)
			again, errs := plan.Rollback(live(t, nil), back, hpas, plan.Options{Method: m})
			require.Empty(t, errs)
			for _, p := range []plan.Plan{there, again} {
				assert.EqualValues(t, 5, written(t, p)["spec"].(map[string]any)["replicas"])
				hold := index(p, "--field-manager=replicas")
				require.Positive(t, hold)
				assert.Contains(t, p.Actions[hold].Command, `"spec":{"replicas":%s}`, "those in the cluster")
				if scaled {
					assert.Greater(t, index(p, "patch hpa"), hold, "the autoscaler comes last")
				}
			}
		}
	}
	assert.Nil(t, to.Spec.Replicas)
	hpas := []autoscalingv2.HorizontalPodAutoscaler{scaler("web", "Deployment", "web")}
	assert.Positive(t, index(migration(t, nil, hpas, plan.Adopt), "--field-manager=replicas"), "with an autoscaler the manifest will have none")
	assert.Equal(t, -1, index(migration(t, nil, nil, plan.Adopt), "--field-manager=replicas"), "a manifest with replicas needs no hold")
}

func TestMigration_MakesAReference(t *testing.T) {
	p, errs := plan.Migration(running(), converted(t), nil, plan.Options{Method: plan.Reference})
	require.Empty(t, errs)
	spec := written(t, p)["spec"].(map[string]any)
	assert.NotContains(t, spec, "template")
	assert.Equal(t, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "never"}, spec["workloadRef"])
	assert.Positive(t, index(p, "scale deployment web --replicas=0"))

	to := converted(t)
	refers("onsuccess")(to)
	p, errs = plan.Migration(running(), to, nil, plan.Options{Method: plan.Reference})
	require.Empty(t, errs)
	assert.Equal(t, -1, index(p, "scale deployment"), "the controller does it")
}

func TestMigration_Refuses(t *testing.T) {
	type args struct {
		live *appsv1.Deployment
		to   *rollout.Rollout
		hpas []autoscalingv2.HorizontalPodAutoscaler
		m    plan.Method
	}
	cases := map[string]struct {
		reason string
		change func(a *args)
		want   []string
	}{
		"AnotherImage": {"The first revision goes through no steps, so all pods would get it.", func(a *args) {
			a.to.Spec.Template.Spec.Containers[0].Image = "web:2"
		}, []string{"spec.template.spec.containers[0].image"}},
		"AnotherInitImage": {"No less.", func(a *args) {
			a.live.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
			a.to.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:2"}}
		}, []string{"spec.template.spec.initContainers[0].image"}},
		"AnotherContainer": {"No less.", func(a *args) {
			a.to.Spec.Template.Spec.Containers = append(a.to.Spec.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side:1"})
		}, []string{"spec.template.spec.containers[1].name"}},
		"AnotherSelector": {"Services would miss the pods.", func(a *args) {
			a.to.Spec.Selector.MatchLabels["tier"] = "x"
			a.to.Spec.Template.Labels["tier"] = "x"
		}, []string{"spec.selector"}},
		"AnotherSelectorOfAReference": {"The Rollout would never find the pods.", func(a *args) {
			a.m, a.to.Spec.Selector.MatchLabels = plan.Reference, map[string]string{"app": "x"}
		}, []string{"spec.selector"}},
		"Paused": {"It would never be healthy, and the plan waits for that.", func(a *args) { a.to.Spec.Paused = true }, []string{"spec.paused"}},
		"PausedByReference": {"No less.", func(a *args) {
			a.m, a.to.Spec.Paused = plan.Reference, true
		}, []string{"spec.paused"}},
		"AnotherNamespace": {"Pods do not move.", func(a *args) { a.to.Namespace = "other" }, []string{"metadata.namespace"}},
		"InvalidRollout":   {"The controller would refuse it.", func(a *args) { a.to.Spec.Strategy.Canary.Steps = []rollout.Step{{}} }, []string{"spec.strategy.canary.steps[0]"}},
		"NoUID":            {"It would get into a shell command.", func(a *args) { a.live.UID = "$(reboot)" }, []string{"metadata.uid"}},
		"TwoScalers": {"Both would stop.", func(a *args) {
			a.hpas = []autoscalingv2.HorizontalPodAutoscaler{scaler("b", "Deployment", "web"), scaler("a", "Rollout", "web")}
		}, []string{"hpas"}},
		"NotSettled":   {"Which pods would be left?", func(a *args) { a.live.Status.UpdatedReplicas = 2 }, []string{"live.status"}},
		"NotAvailable": {"There is nothing to lose.", func(a *args) { a.live.Status.AvailableReplicas = 4 }, []string{"live.status"}},
		"NotObserved":  {"An old status.", func(a *args) { a.live.Generation = 5 }, []string{"live.status"}},
		"ThreeAtOnce": {"One call reports all.", func(a *args) {
			a.live.DeletionTimestamp, a.live.Spec.Strategy.Type = &a.live.CreationTimestamp, appsv1.RecreateDeploymentStrategyType
			a.live.Status.AvailableReplicas = 1
		}, []string{"live.metadata.deletionTimestamp", "live.spec.strategy.type", "live.status"}},
		"BeingDeleted":  {"Too late.", func(a *args) { a.live.DeletionTimestamp = &a.live.CreationTimestamp }, []string{"live.metadata.deletionTimestamp"}},
		"Recreate":      {"Its two versions may not run together.", func(a *args) { a.live.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }, []string{"live.spec.strategy.type"}},
		"UnknownMethod": {"There are three.", func(a *args) { a.m = "Naive" }, []string{"method"}},
		"AdoptWithPodsMissing": {"It would drop to 4.", func(a *args) {
			a.m, a.to.Spec.Strategy.Canary.MaxUnavailable = plan.Adopt, ptr.To(intstr.FromInt32(1))
		}, []string{"spec.strategy.canary.maxUnavailable"}},
		"AdoptWithAQuarterMissing": {"A quarter of five is one.", func(a *args) {
			a.m, a.to.Spec.Strategy.Canary.MaxUnavailable = plan.Adopt, ptr.To(intstr.FromString("25%"))
		}, []string{"spec.strategy.canary.maxUnavailable"}},
		"AdoptWithTheDefault": {"That is 25%.", func(a *args) {
			a.m, a.to.Spec.Strategy.Canary.MaxUnavailable = plan.Adopt, nil
		}, []string{"spec.strategy.canary.maxUnavailable"}},
		"AdoptWithFencesThatRoundToZero": {"Then one pod is taken away.", func(a *args) {
			a.m, a.to.Spec.Strategy.Canary.MaxSurge, a.to.Spec.Strategy.Canary.MaxUnavailable = plan.Adopt, ptr.To(intstr.FromInt32(0)), ptr.To(intstr.FromString("10%"))
		}, []string{"spec.strategy.canary.maxUnavailable"}},
		"ReferenceByAnotherMethod": {"A Rollout with a workloadRef has no template.", func(a *args) { refers("never")(a.to) }, []string{"spec.workloadRef"}},
		"ReferenceToAnother": {"The pods are of this one.", func(a *args) {
			a.m = plan.Reference
			refers("never")(a.to)
			a.to.Spec.WorkloadRef.Name = "other"
		}, []string{"spec.workloadRef.name"}},
		"ProgressivelyWithAScaler": {"They fight.", func(a *args) {
			a.m, a.hpas = plan.Reference, []autoscalingv2.HorizontalPodAutoscaler{scaler("web", "Deployment", "web")}
			refers("progressively")(a.to)
		}, []string{"spec.workloadRef.scaleDown"}},
		"NoNames": {"It would get into a shell command.", func(a *args) {
			a.live.Name, a.to.Name, a.live.Namespace, a.to.Namespace = "a;reboot", "b$(x)", "n s", "n s"
			a.hpas = []autoscalingv2.HorizontalPodAutoscaler{scaler("x y", "Deployment", "a;reboot")}
			a.hpas[0].Namespace = ""
		}, []string{"metadata.name", "metadata.namespace"}},
		"ScalerWithoutAName": {"Nor this.", func(a *args) {
			a.hpas = []autoscalingv2.HorizontalPodAutoscaler{scaler("x y", "Deployment", "web")}
		}, []string{"metadata.name"}},
		"AllAtOnce": {"One call reports every error.", func(a *args) {
			a.to.Spec.Template.Spec.Containers[0].Image = "web:2"
			a.live.Status.UpdatedReplicas = 2
			a.m = "Naive"
		}, []string{"live.status", "method", "spec.template.spec.containers[0].image"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &args{live: running(), to: converted(t)}
			tc.change(a)
			p, errs := plan.Migration(a.live, a.to, a.hpas, plan.Options{Method: a.m})
			assert.Equal(t, tc.want, paths(errs), "%s\n%v", tc.reason, errs)
			assert.Equal(t, plan.Plan{}, p, "nothing to run")
		})
	}
	for _, a := range []args{{}, {live: running()}, {to: converted(t)}} {
		_, errs := plan.Migration(a.live, a.to, nil, plan.Options{Method: plan.Adopt})
		assert.Equal(t, []string{"live"}, paths(errs))
	}
}

func TestRollback_Refuses(t *testing.T) {
	type args struct {
		live *unstructured.Unstructured
		to   *appsv1.Deployment
		hpas []autoscalingv2.HorizontalPodAutoscaler
		m    plan.Method
	}
	cases := map[string]struct {
		reason string
		change func(a *args)
		want   []string
	}{
		"ReferenceByAdoption": {"The Deployment has 0 replicas and would keep them.", func(a *args) { a.live, a.m = live(t, refers("never")), plan.Adopt }, []string{"live.spec.workloadRef"}},
		"ReferenceBesides":    {"No less.", func(a *args) { a.live = live(t, refers("onsuccess")) }, []string{"live.spec.workloadRef"}},
		"NoReference":         {"To what?", func(a *args) { a.m = plan.Reference }, []string{"live.spec.workloadRef"}},
		"ReferenceToAnother":  {"That one has 0 pods.", func(a *args) { a.live, a.m, a.to.Name = live(t, refers("never")), plan.Reference, "other" }, []string{"metadata.name"}},
		"AdoptWithAQuarterMissing": {"The default of Deployments.", func(a *args) { a.m, a.to.Spec.Strategy.RollingUpdate = plan.Adopt, nil }, []string{
			"spec.strategy.rollingUpdate.maxUnavailable",
		}},
		"AdoptWithOneMissing": {"It would drop to 4.", func(a *args) {
			a.m, a.to.Spec.Strategy.RollingUpdate.MaxUnavailable = plan.Adopt, ptr.To(intstr.FromInt32(1))
		}, []string{"spec.strategy.rollingUpdate.maxUnavailable"}},
		"AdoptWithAWord": {"It is neither a number nor a percentage.", func(a *args) {
			a.m, a.to.Spec.Strategy.RollingUpdate.MaxUnavailable = plan.Adopt, ptr.To(intstr.FromString("few"))
		}, []string{"spec.strategy.rollingUpdate.maxUnavailable"}},
		"AdoptWithTextOfANumber": {"The controller of Deployments refuses it.", func(a *args) {
			a.m, a.to.Spec.Strategy.RollingUpdate.MaxUnavailable = plan.Adopt, ptr.To(intstr.FromString("0"))
		}, []string{"spec.strategy.rollingUpdate.maxUnavailable"}},
		"AdoptWithAWordAsPercent": {"It is neither a number nor a percentage.", func(a *args) {
			a.m, a.to.Spec.Strategy.RollingUpdate.MaxUnavailable = plan.Adopt, ptr.To(intstr.FromString("few%"))
		}, []string{"spec.strategy.rollingUpdate.maxUnavailable"}},
		"NamespaceIsNone":  {"It would get into a shell command.", func(a *args) { a.live.SetNamespace("n s"); a.to.Namespace = "" }, []string{"metadata.namespace"}},
		"Recreate":         {"All pods would go first.", func(a *args) { a.to.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }, []string{"spec.strategy.type"}},
		"AnotherSelector":  {"Services would miss the pods.", func(a *args) { a.to.Spec.Selector.MatchLabels = map[string]string{"app": "x"} }, []string{"spec.selector"}},
		"NoSelector":       {"No less.", func(a *args) { a.to.Spec.Selector = nil }, []string{"spec.selector"}},
		"AnotherNamespace": {"Pods do not move.", func(a *args) { a.to.Namespace = "other" }, []string{"metadata.namespace"}},
		"Paused":           {"It would never have a pod.", func(a *args) { a.to.Spec.Paused = true }, []string{"spec.paused"}},
		"MidCanary": {"Some pods have the stable image, which nothing here names.", func(a *args) {
			a.live.Object["status"] = map[string]any{"currentPodHash": "b", "stableRS": "a"}
		}, []string{"live.status.stableRS"}},
		"AbortedByTheOldManifest": {"All pods would get the image that was rejected.", func(a *args) {
			a.m, a.live.Object["status"] = plan.Adopt, map[string]any{"currentPodHash": "b", "stableRS": "a", "abort": true}
		}, []string{"live.status.stableRS"}},
		"ReferenceMidCanary": {"The Deployment has the new template, and would run it everywhere.", func(a *args) {
			a.m, a.live = plan.Reference, live(t, refers("never"))
			a.live.Object["status"] = map[string]any{"currentPodHash": "b", "stableRS": "a"}
		}, []string{"live.status.stableRS"}},
		"TwoScalers": {"Both would stop.", func(a *args) {
			a.hpas = []autoscalingv2.HorizontalPodAutoscaler{scaler("b", "Deployment", "web"), scaler("a", "Rollout", "web")}
		}, []string{"hpas"}},
		"BeingDeleted": {"Too late.", func(a *args) {
			require.NoError(t, unstructured.SetNestedField(a.live.Object, "2026-01-02T03:04:05Z", "metadata", "deletionTimestamp"))
		}, []string{"live.metadata.deletionTimestamp"}},
		"AnotherKind":   {"Not this.", func(a *args) { a.live.SetKind("Deployment") }, []string{"live.kind"}},
		"NotARollout":   {"Not this.", func(a *args) { a.live.Object["spec"] = "x" }, []string{"live"}},
		"UnknownMethod": {"There are three.", func(a *args) { a.m = "Naive" }, []string{"method"}},
		"AnotherImage":  {"A release would be undone.", func(a *args) { a.to.Spec.Template.Spec.Containers[0].Image = "web:0" }, []string{"spec.template.spec.containers[0].image"}},
		"ContainerLess": {"It would be gone from all pods.", func(a *args) {
			a.to.Spec.Template.Spec.Containers[0].Name = "other"
		}, []string{"spec.template.spec.containers[0].name", "spec.template.spec.containers[web]"}},
		"NoNames": {"It would get into a shell command.", func(a *args) { a.to.Name = "x\ny" }, []string{"metadata.name"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &args{live: live(t, nil), to: manifest()}
			tc.change(a)
			p, errs := plan.Rollback(a.live, a.to, a.hpas, plan.Options{Method: a.m})
			assert.Equal(t, tc.want, paths(errs), "%s\n%v", tc.reason, errs)
			assert.Equal(t, plan.Plan{}, p, "nothing to run")
		})
	}
	for _, a := range []args{{}, {live: live(t, nil)}, {to: manifest()}} {
		_, errs := plan.Rollback(a.live, a.to, nil, plan.Options{Method: plan.Adopt})
		assert.Equal(t, []string{"live"}, paths(errs))
	}
}

func TestMigration_Accepts(t *testing.T) {
	fewer := converted(t)
	fewer.Spec.Strategy.Canary.MaxUnavailable = ptr.To(intstr.FromString("10%"))
	_, errs := plan.Migration(running(), fewer, nil, plan.Options{Method: plan.Adopt})
	assert.Empty(t, errs, "10% of five rounds to 0 pods")

	none := running()
	none.Spec.Replicas, none.Status = ptr.To[int32](0), appsv1.DeploymentStatus{ObservedGeneration: 4}
	quarter := converted(t)
	quarter.Spec.Strategy.Canary.MaxSurge, quarter.Spec.Strategy.Canary.MaxUnavailable = nil, nil
	_, errs = plan.Migration(none, quarter, nil, plan.Options{Method: plan.Adopt})
	assert.Empty(t, errs, "of no pods none can be missing")

	home, there := running(), converted(t)
	home.Namespace, there.Namespace = "", ""
	p, errs := plan.Migration(home, there, nil, plan.Options{Method: plan.SideBySide})
	assert.Empty(t, errs, "the namespace that kubectl is in")
	assert.NotContains(t, p.String(), "kubectl -n")
}

// Upstream's own order puts the Deployment straight back to 0 while the Rollout
// is at its first revision.
func TestRollback_StopsTheScaleDownFirst(t *testing.T) {
	for scaleDown, first := range map[string]bool{"onsuccess": true, "progressively": true, "never": false, "": false} {
		p, errs := plan.Rollback(live(t, refers(scaleDown)), manifest(), nil, plan.Options{Method: plan.Reference})
		require.Empty(t, errs)
		patch := index(p, `"scaleDown":"never"`)
		if !first {
			assert.Equal(t, -1, patch, scaleDown)
			continue
		}
		assert.Equal(t, 1, patch, "%s: right after the check", scaleDown)
		assert.Contains(t, p.Actions[patch].Until, "observedGeneration", "and the controller has seen it")
		assert.Greater(t, index(p, "scale deployment web --replicas=5"), patch)
	}
}

func TestRollback_MakesAManifest(t *testing.T) {
	to := running()
	to.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	to.Spec.Replicas = ptr.To[int32](0)
	before := to.DeepCopy()
	p, errs := plan.Rollback(live(t, nil), to, nil, plan.Options{Method: plan.SideBySide})
	require.Empty(t, errs)
	body := written(t, p)
	meta := body["metadata"].(map[string]any)
	for _, key := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		assert.NotContains(t, meta, key)
	}
	assert.NotContains(t, meta, "annotations", "both describe the old Deployment")
	assert.Equal(t, "Deployment", body["kind"])
	assert.NotContains(t, body, "status")
	assert.EqualValues(t, 5, body["spec"].(map[string]any)["replicas"])
	assert.Equal(t, before, to)
}

// Text that comes from an object stays within its comment.
func TestPlan_CommentsStayComments(t *testing.T) {
	p := migration(t, nil, nil, plan.Adopt)
	p.Warnings = append(p.Warnings, "two\nlines $(touch /tmp/x) 'and' \"quotes\"\r\n")
	script := p.String()
	for line := range strings.Lines(script) {
		assert.False(t, strings.HasPrefix(line, "lines"), "a comment became a command")
	}
	for _, a := range p.Actions {
		assert.NotEmpty(t, a.Do)
		assert.NotEmpty(t, a.Command)
		assert.Contains(t, script, a.Command)
		assert.Contains(t, script, a.Until)
	}
	assert.Empty(t, plan.Plan{}.String())
}

// A pasted exclamation mark could be expanded by the shell.
func TestMigration_WritesNoExclamationMark(t *testing.T) {
	to := converted(t)
	to.Annotations = map[string]string{"greeting": "hello!"}
	p, errs := plan.Migration(running(), to, nil, plan.Options{})
	require.Empty(t, errs)
	assert.NotContains(t, p.Actions[index(p, "cat >")].Command, "!")
	assert.Equal(t, map[string]any{"greeting": "hello!"}, written(t, p)["metadata"].(map[string]any)["annotations"])
}

// The caller may want the other version, as in the middle of a bad canary.
func TestRollback_AllowsAnotherTemplate(t *testing.T) {
	to := manifest()
	to.Spec.Template.Spec.Containers[0].Image = "web:0"
	p, errs := plan.Rollback(live(t, nil), to, nil, plan.Options{AllowTemplateChange: true})
	require.Empty(t, errs)
	require.Len(t, p.Warnings, 1)
	assert.Contains(t, p.Warnings[0], "spec.template.spec.containers[web].image")
}

func TestRetarget(t *testing.T) {
	h := scaler("web", "Deployment", "web")
	h.Spec.MaxReplicas = 9
	before := h.DeepCopy()
	got := plan.Retarget(&h, rollout.GVK())
	assert.Equal(t, autoscalingv2.CrossVersionObjectReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web"}, got.Spec.ScaleTargetRef)
	assert.EqualValues(t, 9, got.Spec.MaxReplicas)
	assert.Equal(t, before, &h)
	assert.Nil(t, plan.Retarget(nil, rollout.GVK()))
}

func referredBy(m plan.Method) func(*rollout.Rollout) {
	if m == plan.Reference {
		return refers("onsuccess")
	}
	return nil
}

func migration(t *testing.T, change func(d *appsv1.Deployment), hpas []autoscalingv2.HorizontalPodAutoscaler, m plan.Method) plan.Plan {
	t.Helper()
	d := running()
	if change != nil {
		change(d)
	}
	p, errs := plan.Migration(d, converted(t), hpas, plan.Options{Method: m})
	require.Empty(t, errs)
	return p
}

func rollback(t *testing.T, u *unstructured.Unstructured, m plan.Method) plan.Plan {
	t.Helper()
	p, errs := plan.Rollback(u, manifest(), nil, plan.Options{Method: m})
	require.Empty(t, errs)
	return p
}
