// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
)

// Migration plans the switch from a Deployment as it was read from the server to a Rollout of the same pods, such as rollout.Convert
// makes of its rendered manifest. hpas may be all of the namespace; those of the Deployment are handed over once the Rollout is
// healthy. An empty method is SideBySide. For Reference a Rollout that has no workloadRef yet is given one, and loses its template.
//
// The replicas are those of the live Deployment, whatever to has, and stay explicit at the switch. Errors, all at once, are for what
// would lose capacity or skip steps: another image, a container more or less, another selector, a rollout in progress, Services that the
// controller would take over, two HorizontalPodAutoscalers, and a Rollout that rollout.Validate refuses. Nothing given is changed.
func Migration(live *appsv1.Deployment, to *rollout.Rollout, hpas []autoscalingv2.HorizontalPodAutoscaler, m Method) (Plan, field.ErrorList) {
	if live == nil || to == nil {
		return Plan{}, field.ErrorList{field.Required(field.NewPath("live"), "a plan needs the live Deployment and the Rollout")}
	}
	b := &builder{namespace: live.Namespace}
	m = b.method(m)
	b.names(live.Name, to.Name)
	kept := to.Spec.Replicas
	to = target(live, to, m)
	b.add(rollout.Validate(to)...)
	b.settledDeployment(live)
	b.sameWorkload(live, to, m)
	scaler := b.scaler(hpas, "Deployment", live.Name, "Rollout", to.Name)
	if ref := to.Spec.WorkloadRef; ref != nil && scaler != nil && ref.ScaleDown == "progressively" {
		b.add(field.Invalid(field.NewPath("spec", "workloadRef", "scaleDown"), "progressively",
			"fights with the HorizontalPodAutoscaler "+scaler.Name+"; use never or onsuccess"))
	}
	if len(b.errs) > 0 {
		return Plan{}, b.errs
	}
	b.warnMigration(live, m, scaler)

	file := to.Name + "-rollout.json"
	b.write("the Rollout", file, to)
	b.do("Let the server check it without storing it: kind, fields, quota, admission", b.kubectl("apply --server-side --dry-run=server --validate=strict -f "+file), "")
	if m == Adopt {
		b.do("Leave the ReplicaSets and pods of the Deployment without an owner; they run on",
			b.kubectl("delete deployment "+live.Name+" --cascade=orphan --ignore-not-found"),
			b.kubectl("wait --for=delete deployment/"+live.Name+" --timeout=60s"))
		// A Rollout's own ReplicaSets have the label from the start, and are lost to it under another value: run again, this must leave them.
		without := metav1.FormatLabelSelector(live.Spec.Selector) + ",!rollouts-pod-template-hash"
		b.do("Show them to the controller of Rollouts, which looks for ReplicaSets with this label and any value",
			b.kubectl("label replicaset -l "+quote(without)+" rollouts-pod-template-hash=legacy"), "")
	}
	b.do("Create the Rollout with as many replicas as run now", b.kubectl("apply --server-side --validate=strict -f "+file), b.untilHealthy(to.Name, *to.Spec.Replicas))
	b.holdReplicas(scaler, kept, rollout.GVK(), to.Name, *to.Spec.Replicas)
	b.handOver(scaler, rollout.GVK(), to.Name)
	switch {
	case m == SideBySide:
		b.do("Remove the Deployment and its pods", b.kubectl("delete deployment "+live.Name+" --ignore-not-found"),
			b.kubectl("wait --for=delete deployment/"+live.Name+" --timeout=600s"))
	case m == Reference && slices.Contains([]string{"", "never"}, to.Spec.WorkloadRef.ScaleDown):
		b.do("Scale the Deployment down; it stays as the source of the template", b.kubectl("scale deployment "+live.Name+" --replicas=0"),
			b.kubectl("rollout status deployment/"+live.Name+" --timeout=600s"))
	}
	return b.plan, nil
}

// target is to as it is applied.
func target(live *appsv1.Deployment, to *rollout.Rollout, m Method) *rollout.Rollout {
	to = to.DeepCopy()
	to.APIVersion, to.Kind = rollout.GVK().ToAPIVersionAndKind()
	if to.Namespace == "" {
		to.Namespace = live.Namespace
	}
	to.Spec.Replicas = new(replicas(live.Spec.Replicas))
	if m == Reference && to.Spec.WorkloadRef == nil {
		to.Spec.WorkloadRef = &rollout.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: live.Name, ScaleDown: "never"}
		to.Spec.Template = nil
	}
	return to
}

// settledDeployment: pods may change hands only when they are all there and of one version.
func (b *builder) settledDeployment(live *appsv1.Deployment) {
	path, s, want := field.NewPath("live", "status"), &live.Status, replicas(live.Spec.Replicas)
	switch {
	case live.DeletionTimestamp != nil:
		b.add(field.Forbidden(field.NewPath("live", "metadata", "deletionTimestamp"), "the Deployment is being deleted"))
	case live.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		b.add(field.NotSupported(field.NewPath("live", "spec", "strategy", "type"), live.Spec.Strategy.Type,
			[]appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType}))
	case s.ObservedGeneration == 0:
		b.warn("The Deployment has no status. A plan needs the live one, as kubectl get -o yaml shows it: replicas and image are taken from it.")
	case s.ObservedGeneration < live.Generation || s.UpdatedReplicas != want || s.Replicas != want || s.AvailableReplicas < want:
		b.add(field.Forbidden(path, fmt.Sprintf("the Deployment is not settled: of %d pods %d are of this version and %d available; wait, then plan anew",
			want, s.UpdatedReplicas, s.AvailableReplicas)))
	}
}

func (b *builder) sameWorkload(live *appsv1.Deployment, to *rollout.Rollout, m Method) {
	if to.Namespace != live.Namespace {
		b.add(field.Invalid(field.NewPath("metadata", "namespace"), to.Namespace, "must be that of the Deployment, "+live.Namespace))
	}
	b.noServicesYet(&to.Spec.Strategy)
	ref := to.Spec.WorkloadRef
	switch {
	case m == Reference:
		if ref != nil && (ref.Kind != "Deployment" || ref.Name != live.Name) {
			b.add(field.Invalid(field.NewPath("spec", "workloadRef", "name"), ref.Name, "must be the Deployment "+live.Name))
		}
		return
	case ref != nil:
		b.add(field.Forbidden(field.NewPath("spec", "workloadRef"), "needs the method Reference"))
		return
	}
	if !equalSelectors(live.Spec.Selector, to.Spec.Selector) {
		b.add(field.Invalid(field.NewPath("spec", "selector"), metav1.FormatLabelSelector(to.Spec.Selector),
			"must be that of the Deployment, "+metav1.FormatLabelSelector(live.Spec.Selector)))
	}
	b.sameTemplate(&live.Spec.Template, to.Spec.Template)
	if c := to.Spec.Strategy.Canary; m == Adopt && c != nil {
		b.noneUnavailable(c.MaxSurge, c.MaxUnavailable, replicas(live.Spec.Replicas), inCanary("maxUnavailable"))
	}
}

func (b *builder) warnMigration(live *appsv1.Deployment, m Method, scaler *autoscalingv2.HorizontalPodAutoscaler) {
	b.warnTools(live.Labels, live.Annotations)
	if live.Spec.Paused {
		b.warn("The Deployment is paused. A paused Rollout holds at its current step instead; clear spec.paused unless that is meant.")
	}
	if m == Adopt {
		b.warn("Do not undo to a revision from before the Rollout: its template would bring the label pod-template-hash along.")
	}
	if m == Reference && scaler != nil {
		b.warn("The HorizontalPodAutoscaler " + scaler.Name + " must not target the Deployment again: it would stop at 0 replicas.")
	}
	if replicas(live.Spec.Replicas) == 0 {
		b.warn("The Deployment has 0 replicas: nothing is tested until it is scaled up.")
	}
}

func inCanary(name string) *field.Path { return field.NewPath("spec", "strategy", "canary", name) }
