// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func TestMigration_KeepsTheLiveReplicas(t *testing.T) {
	to := converted(t)
	to.Spec.Replicas = ptr.To[int32](3)
	to.TypeMeta = metav1.TypeMeta{} // as a typed client reads it
	before := to.DeepCopy()
	deployment := running()
	p, errs := plan.Migration(inCluster(t, deployment), to, nil, plan.Options{})
	require.Empty(t, errs)
	body := written(t, p)
	assert.EqualValues(t, 5, body["spec"].(map[string]any)["replicas"], "not the 3 of the manifest")
	assert.Equal(t, "Rollout", body["kind"])
	assert.NotContains(t, body, "status")
	assert.Equal(t, before, to)
	assert.Equal(t, running(), deployment)
}

func TestMigration_Refuses(t *testing.T) {
	type args struct {
		live   *appsv1.Deployment
		to     *rollout.Rollout
		others []unstructured.Unstructured
	}
	template := func(a *args) *corev1.PodSpec { return &a.to.Spec.Template.Spec }
	cases := map[string]struct {
		reason string
		change func(a *args)
		want   []string
	}{
		"AnotherImage": {"The first revision goes through no steps, so all pods would get it.", func(a *args) {
			template(a).Containers[0].Image = "web:2"
		}, []string{"spec.template.spec.containers[0].image"}},
		"AnotherInitImage": {"The image of an init container is a part of the template.", func(a *args) {
			a.live.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
			template(a).InitContainers = []corev1.Container{{Name: "init", Image: "init:2"}}
		}, []string{"spec.template.spec.initContainers[0].image"}},
		"AnotherContainer": {"A container is a part of the template.", func(a *args) {
			template(a).Containers = append(template(a).Containers, corev1.Container{Name: "side", Image: "side:1"})
		}, []string{"spec.template.spec.containers"}},
		"AnotherVariable": {"It was set in the cluster, and all pods would lose it.", func(a *args) {
			a.live.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "s3cret"}}
		}, []string{"spec.template.spec.containers[0].env"}},
		"AnotherValue": {"A value of the environment is a part of the template.", func(a *args) {
			a.live.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "s3cret"}}
			template(a).Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "other"}}
		}, []string{"spec.template.spec.containers[0].env[0].value"}},
		"ValueTakenAway": {"kubectl set env FEATURE= leaves no value.", func(a *args) {
			a.live.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FEATURE"}}
			template(a).Containers[0].Env = []corev1.EnvVar{{Name: "FEATURE", Value: "on"}}
		}, []string{"spec.template.spec.containers[0].env[0].value"}},
		"HostNetwork": {"hostNetwork has no default that could explain it.", func(a *args) { a.live.Spec.Template.Spec.HostNetwork = true }, []string{"spec.template.spec.hostNetwork"}},
		"GracePeriod": {"Another than the default.", func(a *args) {
			a.live.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](120)
		}, []string{"spec.template.spec.terminationGracePeriodSeconds"}},
		"Sidecar": {"Not the policy of the pod.", func(a *args) {
			init := corev1.Container{Name: "init", Image: "init:1"}
			template(a).InitContainers = []corev1.Container{init}
			init.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
			a.live.Spec.Template.Spec.InitContainers = []corev1.Container{init}
		}, []string{"spec.template.spec.initContainers[0].restartPolicy"}},
		"Defaults": {"A server fills them in.", func(a *args) {
			s := &a.live.Spec.Template.Spec
			s.RestartPolicy = corev1.RestartPolicyAlways
			s.SchedulerName = "default-scheduler"
			s.TerminationGracePeriodSeconds = ptr.To[int64](30)
			s.SecurityContext = &corev1.PodSecurityContext{}
			s.ServiceAccountName = "web"
			s.DeprecatedServiceAccount = "web"
			template(a).ServiceAccountName = "web"
			s.Containers[0].TerminationMessagePath = "/dev/termination-log"
			s.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageReadFile
		}, []string{}},
		"OldNameOfAnAccount": {"A server fills in the new one.", func(a *args) {
			a.live.Spec.Template.Spec.ServiceAccountName = "web"
			a.live.Spec.Template.Spec.DeprecatedServiceAccount = "web"
			template(a).DeprecatedServiceAccount = "web"
		}, []string{}},
		"AnnotationLikeADefault": {"No server fills in an annotation.", func(a *args) {
			a.live.Spec.Template.Annotations = map[string]string{"a": "b", "protocol": "TCP"}
			a.to.Spec.Template.Annotations = map[string]string{"a": "b"}
		}, []string{"spec.template.metadata.annotations[protocol]"}},
		"AnotherName":     {"The script would look for the wrong one.", func(a *args) { a.to.Name = "other" }, []string{"metadata.name"}},
		"AnotherArgument": {"An argument is a part of the template.", func(a *args) { template(a).Containers[0].Args = []string{"-v"} }, []string{"spec.template.spec.containers[0].args"}},
		"AnotherAccount":  {"The ServiceAccount is a part of the template.", func(a *args) { a.live.Spec.Template.Spec.ServiceAccountName = "web" }, []string{"spec.template.spec.serviceAccountName"}},
		"AnotherChecksum": {"The configuration has changed.", func(a *args) {
			a.live.Spec.Template.Annotations = map[string]string{"checksum/config": "2"}
			a.to.Spec.Template.Annotations = map[string]string{"checksum/config": "1"}
		}, []string{"spec.template.metadata.annotations[checksum/config]"}},
		"AnotherLimit": {"A limit is a part of the template.", func(a *args) {
			template(a).Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}, []string{"spec.template.spec.containers[0].resources.limits"}},
		"Restarted": {"kubectl rollout restart releases nothing.", func(a *args) {
			a.live.Spec.Template.Annotations = map[string]string{"a": "b", "kubectl.kubernetes.io/restartedAt": "2026-01-02T03:04:05Z"}
			a.to.Spec.Template.Annotations = map[string]string{"a": "b"}
		}, []string{}},
		"NoSurge":       {"One pod more cannot work.", func(a *args) { a.live.Spec.Strategy.RollingUpdate.MaxSurge = fence("0%") }, []string{"live.spec.strategy.rollingUpdate.maxSurge"}},
		"NoSurgeInPods": {"Neither as a number.", func(a *args) { a.live.Spec.Strategy.RollingUpdate.MaxSurge = fence("0") }, []string{"live.spec.strategy.rollingUpdate.maxSurge"}},
		"AnotherSelector": {"Services would miss the pods.", func(a *args) {
			a.to.Spec.Selector.MatchLabels["tier"] = "x"
		}, []string{"spec.selector"}},
		"Paused":           {"It would never be healthy, and the plan waits for that.", func(a *args) { a.to.Spec.Paused = true }, []string{"spec.paused"}},
		"AnotherNamespace": {"Pods do not move.", func(a *args) { a.to.Namespace = "other" }, []string{"metadata.namespace"}},
		"NoNamespace":      {"It is applied where the live object is.", func(a *args) { a.to.Namespace = "" }, []string{}},
		"TwoScalers": {"Two autoscalers of the same pods both stop.", func(a *args) {
			a.others = []unstructured.Unstructured{scaler("b", "Deployment", "web"), scaler("a", "Rollout", "web")}
		}, []string{"others"}},
		"NotSettled":   {"Which pods would be left?", func(a *args) { a.live.Status.UpdatedReplicas = 2 }, []string{"live.status"}},
		"NotAvailable": {"The new pods count, not the old ones.", func(a *args) { a.live.Status.AvailableReplicas = 4 }, []string{}},
		"NotObserved":  {"An old status is not about these pods.", func(a *args) { a.live.Generation = 5 }, []string{"live.status"}},
		"NoStatus":     {"No controller has seen it.", func(a *args) { a.live.Status = appsv1.DeploymentStatus{} }, []string{"live.status"}},
		"ThreeAtOnce": {"One call reports all.", func(a *args) {
			a.live.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			a.live.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
			a.live.Status.UpdatedReplicas = 1
		}, []string{"live.metadata.deletionTimestamp", "live.spec.strategy.type", "live.status"}},
		"BeingDeleted": {"An object that is being deleted cannot be replaced.", func(a *args) { a.live.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, []string{"live.metadata.deletionTimestamp"}},
		"Recreate":     {"Its two versions may not run together.", func(a *args) { a.live.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }, []string{"live.spec.strategy.type"}},
		"Reference": {"The controller does the switch itself.", func(a *args) {
			refers("never")(a.to)
		}, []string{"spec.template"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &args{live: running(), to: converted(t)}
			tc.change(a)
			p, errs := plan.Migration(inCluster(t, a.live), a.to, a.others, plan.Options{})
			assert.Equal(t, tc.want, paths(errs), "%s\n%v", tc.reason, errs)
			assert.Equal(t, len(errs) == 0, len(p.Steps) > 0, "nothing to run")
			assert.NotContains(t, fmt.Sprint(errs), "s3cret", "a variable may be secret")
		})
	}
	_, errs := plan.Migration(nil, nil, nil, plan.Options{})
	assert.Equal(t, []string{"live", "rollout"}, paths(errs))
	rendered := running()
	rendered.UID = ""
	_, errs = plan.Migration(inCluster(t, rendered), converted(t), nil, plan.Options{})
	assert.Equal(t, []string{"live.metadata.uid"}, paths(errs))
	_, errs = plan.Migration(live(t, nil), converted(t), nil, plan.Options{})
	assert.Equal(t, []string{"live.kind"}, paths(errs))
}

func TestRollback_Refuses(t *testing.T) {
	type args struct {
		live   *unstructured.Unstructured
		to     *appsv1.Deployment
		others []unstructured.Unstructured
	}
	status := func(a *args, name string, value any) {
		require.NoError(t, unstructured.SetNestedField(a.live.Object, value, "status", name))
	}
	release := func(a *args) { // the template has a version that the status does not know
		a.live = live(t, func(r *rollout.Rollout) { r.Spec.Template.Spec.Containers[0].Image = "web:2" })
		a.to.Spec.Template.Spec.Containers[0].Image = "web:2"
	}
	cases := map[string]struct {
		reason string
		change func(a *args)
		want   []string
	}{
		"Reference":        {"The Deployment has 0 replicas and would keep them.", func(a *args) { a.live = live(t, refers("onsuccess")) }, []string{"live.spec.workloadRef"}},
		"Recreate":         {"All pods would go first.", func(a *args) { a.to.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }, []string{"spec.strategy.type"}},
		"AnotherSelector":  {"Services would miss the pods.", func(a *args) { a.to.Spec.Selector.MatchLabels = map[string]string{"app": "x"} }, []string{"spec.selector"}},
		"NoSelector":       {"The plan needs the selector of the Rollout.", func(a *args) { a.to.Spec.Selector = nil }, []string{"spec.selector"}},
		"AnotherNamespace": {"Pods do not move.", func(a *args) { a.to.Namespace = "other" }, []string{"metadata.namespace"}},
		"Paused":           {"It would never have a pod.", func(a *args) { a.to.Spec.Paused = true }, []string{"spec.paused"}},
		"MidCanary":        {"Some pods have the stable image, which nothing here names.", func(a *args) { a.live = midCanary(t) }, []string{"live.status"}},
		"Aborted": {"All pods would get the image that was rejected.", func(a *args) {
			a.live = midCanary(t)
			status(a, "abort", true)
			status(a, "phase", "Degraded")
		}, []string{"live.status"}},
		"AllPodsOfTheNew": {"The stable version is another one.", func(a *args) {
			a.live = midCanary(t)
			status(a, "updatedReplicas", int64(5))
		}, []string{"live.status"}},
		"NoneStable": {"The first version is not there yet.", func(a *args) {
			status(a, "stableRS", "")
			status(a, "currentPodHash", "")
		}, []string{"live.status"}},
		"SomePodsOfAnother": {"Pods of an aborted version are left.", func(a *args) {
			status(a, "updatedReplicas", int64(4))
		}, []string{"live.status"}},
		"NotSeen":  {"The controller is slow or down, and the pods run web:1.", func(a *args) { release(a); status(a, "observedGeneration", "1") }, []string{"live.status"}},
		"NoStatus": {"No controller has seen it.", func(a *args) { delete(a.live.Object, "status") }, []string{"live.status"}},
		"Degraded": {"All pods run the version of the template, and some are not available: no phase keeps anybody there.", func(a *args) {
			status(a, "phase", "Degraded")
			status(a, "availableReplicas", int64(3))
			status(a, "conditions", []any{map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "lastTransitionTime": nil}})
		}, []string{}},
		"TwoScalers": {"Two autoscalers of the same pods both stop.", func(a *args) {
			a.others = []unstructured.Unstructured{scaler("b", "Deployment", "web"), scaler("a", "Rollout", "web")}
		}, []string{"others"}},
		"BeingDeleted": {"An object that is being deleted cannot be replaced.", func(a *args) {
			require.NoError(t, unstructured.SetNestedField(a.live.Object, "2026-01-02T03:04:05Z", "metadata", "deletionTimestamp"))
		}, []string{"live.metadata.deletionTimestamp"}},
		"AnotherKind":  {"The live object has another kind.", func(a *args) { a.live.SetKind("Deployment") }, []string{"live.kind"}},
		"NotARollout":  {"The spec of the live object is none of a Rollout.", func(a *args) { a.live.Object["spec"] = "x" }, []string{"live"}},
		"AnotherImage": {"A release would be undone.", func(a *args) { a.to.Spec.Template.Spec.Containers[0].Image = "web:0" }, []string{"spec.template.spec.containers[0].image"}},
		"ContainerLess": {"It would be gone from all pods.", func(a *args) {
			a.to.Spec.Template.Spec.Containers[0].Name = "other"
		}, []string{"spec.template.spec.containers[0].name"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &args{live: live(t, nil), to: manifest()}
			tc.change(a)
			p, errs := plan.Rollback(a.live, a.to, a.others, plan.Options{})
			assert.Equal(t, tc.want, paths(errs), "%s\n%v", tc.reason, errs)
			assert.Equal(t, len(errs) == 0, len(p.Steps) > 0, "nothing to run")
		})
	}
	_, errs := plan.Rollback(nil, nil, nil, plan.Options{})
	assert.Equal(t, []string{"deployment", "live"}, paths(errs))
}

// TestRollback_DoesWhatItsOptionsAllow: each option switches one guard off. The
// caller may want the other version, as in the middle of a bad canary.
func TestRollback_DoesWhatItsOptionsAllow(t *testing.T) {
	to := manifest()
	to.Spec.Template.Spec.Containers[0].Image = "web:0"
	_, errs := plan.Rollback(midCanary(t), to, nil, plan.Options{AllowTemplateChange: true})
	assert.Equal(t, []string{"live.status"}, paths(errs))
	_, errs = plan.Rollback(midCanary(t), to, nil, plan.Options{AllowTwoVersions: true})
	assert.Equal(t, []string{"spec.template.spec.containers[0].image"}, paths(errs))
	p, errs := plan.Rollback(midCanary(t), to, nil, plan.Options{AllowTemplateChange: true, AllowTwoVersions: true})
	require.Empty(t, errs)
	require.Len(t, p.Warnings, 2)
	assert.Contains(t, p.Warnings[1], "The Rollout is Paused, and 1 of 5 pods run the version of its template.")
}

func TestRollback_MakesAManifest(t *testing.T) {
	to := running()
	to.Namespace = ""
	to.Labels = map[string]string{"team": "shop"}
	to.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "o"}}
	to.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	to.Spec.Replicas = ptr.To[int32](0)
	before := to.DeepCopy()
	p, errs := plan.Rollback(live(t, nil), to, nil, plan.Options{})
	require.Empty(t, errs)
	body := written(t, p)
	meta := body["metadata"].(map[string]any)
	assert.Equal(t, []string{"rollout.controllerkit.dev/plan"}, slices.Collect(maps.Keys(meta["annotations"].(map[string]any))))
	delete(meta, "annotations")
	assert.Equal(t, map[string]any{
		"name": "web", "namespace": "shop", "labels": map[string]any{"team": "shop"},
		"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "o"}},
	}, meta)
	assert.Contains(t, p.Warnings[1], "The manifest has 0 replicas and 5 run")
	assert.Equal(t, "Deployment", body["kind"])
	assert.NotContains(t, body, "status")
	assert.EqualValues(t, 5, body["spec"].(map[string]any)["replicas"])
	assert.Equal(t, before, to)
}

func TestPlan_OfTheNamespaceThatKubectlIsIn(t *testing.T) {
	home := running()
	there := converted(t)
	home.Namespace = ""
	there.Namespace = ""
	p, errs := plan.Migration(inCluster(t, home), there, nil, plan.Options{Context: "prod"})
	require.Empty(t, errs)
	assert.Contains(t, p.String(), "kube() { kubectl --context=prod \"$@\"; }\n")
}

// TestPlan_WaitsAsLongAsThePodsAreMany: at one pod after the other, 200 of them
// need more than ten minutes, and more where each must be ready for a while.
func TestPlan_WaitsAsLongAsThePodsAreMany(t *testing.T) {
	for n, want := range map[int32]int64{0: 600, 20: 600, 200: 6000, 1 << 30: 32212254720} {
		p := migration(t, func(d *appsv1.Deployment) {
			d.Spec.Replicas = &n
			d.Status = rolledOut(4, n)
		})
		assert.Equal(t, want, p.Steps[find(p, "wait", "rollout/web")].Seconds)
	}
	to := manifest()
	to.Spec.MinReadySeconds = 300
	p, errs := plan.Rollback(live(t, nil), to, nil, plan.Options{})
	require.Empty(t, errs)
	assert.EqualValues(t, 1650, p.Steps[find(p, "wait", "deployment/web")].Seconds)
	next := converted(t)
	next.Spec.MinReadySeconds = 300
	p, errs = plan.Migration(inCluster(t, running()), next, nil, plan.Options{})
	require.Empty(t, errs)
	assert.EqualValues(t, 1650, p.Steps[find(p, "wait", "rollout/web")].Seconds)
}

// TestPlan_RefusesServices: the controller keeps a Service to the pods of the
// Rollout. Before a migration these do not exist yet, and after a rollback the
// Deployment's are behind none.
func TestPlan_RefusesServices(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(s *rollout.Strategy)
		want   []string
	}{
		"Canary": {"Both.", func(s *rollout.Strategy) {
			s.Canary.CanaryService = "web-canary"
			s.Canary.StableService = "web"
		}, []string{"canary.canaryService", "canary.stableService"}},
		"PingPong": {"Both Services are kept to pods of the Rollout.", func(s *rollout.Strategy) {
			s.Canary.PingPong = map[string]any{"pingService": "web-ping", "pongService": "web-pong"}
			s.Canary.TrafficRouting = map[string]any{"alb": map[string]any{"ingress": "web", "servicePort": int64(80), "rootService": "web"}}
		}, []string{"canary.pingPong.pingService", "canary.pingPong.pongService"}},
		"BlueGreen": {"Which cannot be without one.", func(s *rollout.Strategy) {
			*s = rollout.Strategy{BlueGreen: map[string]any{"activeService": "web", "previewService": "web-next"}}
		}, []string{"blueGreen.activeService", "blueGreen.previewService"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := converted(t)
			tc.change(&to.Spec.Strategy)
			_, errs := plan.Migration(inCluster(t, running()), to, nil, plan.Options{})
			assert.Equal(t, under("spec.strategy.", tc.want), paths(errs), "%s\n%v", tc.reason, errs)
			from := live(t, func(r *rollout.Rollout) { tc.change(&r.Spec.Strategy) })
			_, errs = plan.Rollback(from, manifest(), nil, plan.Options{})
			assert.Equal(t, under("live.spec.strategy.", tc.want), paths(errs), "%s\n%v", tc.reason, errs)
		})
	}
}

func under(path string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = path + name
	}
	return out
}
