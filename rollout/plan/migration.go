// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

// Migration plans the switch from a live Deployment to a Rollout of the same
// pods, such as rollout.Convert returns for its rendered manifest. hpas may be
// all of the namespace. The plan hands over the autoscaler of the Deployment
// once the Rollout is healthy. For Reference, Migration gives a Rollout without
// a workloadRef one, and removes its template.
//
// The Rollout gets the replicas of the live Deployment. Migration refuses what
// would lose capacity or skip steps, and reports the problems in one call:
// another image, a container more or less, another selector, a rollout in
// progress, Services that the controller would take over, two
// HorizontalPodAutoscalers, and a Rollout that rollout.Validate refuses. What
// Rollout.Warnings finds is a warning. A Deployment without a status, such as a
// rendered one, gives a preview: its script stops at the first step. Migration
// changes none of its arguments.
func Migration(live *appsv1.Deployment, to *rollout.Rollout, hpas []autoscalingv2.HorizontalPodAutoscaler, o Options) (Plan, field.ErrorList) {
	if live == nil || to == nil {
		return Plan{}, field.ErrorList{field.Required(field.NewPath("live"), "a plan needs the live Deployment and the Rollout")}
	}
	b := newBuilder(live.Namespace, o)
	b.names(live.UID, live.Name, to.Name)
	kept := to.Spec.Replicas
	to = target(live, to, b.Method)
	scaler := b.scaler(hpas, "Deployment", live.Name, "Rollout", to.Name)
	judged := *to
	if kept == nil && scaler != nil {
		judged.Spec.Replicas = nil // the autoscaler may set more than run now
	}
	b.add(rollout.Validate(&judged)...)
	b.settledDeployment(live)
	b.sameWorkload(live, to)
	if ref := to.Spec.WorkloadRef; ref != nil && scaler != nil && ref.ScaleDown == "progressively" {
		b.add(field.Invalid(field.NewPath("spec", "workloadRef", "scaleDown"), "progressively",
			"fights with the HorizontalPodAutoscaler "+scaler.Name+"; use never or onsuccess"))
	}
	g, err := b.migrationGuard(live, to)
	if err != nil {
		b.add(field.InternalError(field.NewPath("spec"), err))
	}
	if len(b.errs) > 0 {
		return Plan{}, b.errs
	}
	b.warnMigration(live, to, scaler)
	b.header(live, "Deployment", "Rollout "+to.Name)

	file, n := to.Name+"-rollout.json", *to.Spec.Replicas
	b.check(g, checkFirst)
	b.write("the Rollout", file, to)
	b.do("Let the server check it without storing it: kind, fields, quota, admission", b.unlessThere(&g.after, b.apply("--dry-run=server -f "+file)), "")
	if b.Method == Adopt {
		b.do("Label the ReplicaSets of the Deployment, because the controller of Rollouts adopts only those with this label",
			b.labelOwned(live), "")
		b.check(g, checkAgain)
		b.do("Leave the ReplicaSets and pods of the Deployment without an owner; they continue to run",
			b.remove("deployment "+live.Name, " --cascade=orphan"), b.untilGone("deployment/"+live.Name, 60))
	}
	b.do("Create the Rollout with as many replicas as run now", b.unlessThere(&g.after, b.apply("-f "+file)), b.untilHealthy(to.Name, n, to.Spec.MinReadySeconds))
	b.holdReplicas(scaler, kept, &g.after, rollout.GVK(), n)
	g.target = b.handOver(scaler, rollout.GVK(), to.Name)
	g.size = "{.status.availableReplicas}"
	scaleDown := b.Method == Reference && slices.Contains([]string{"", "never"}, to.Spec.WorkloadRef.ScaleDown)
	until, undo := 0, ""
	if b.Method == SideBySide || scaleDown {
		b.check(g, checkAgain)
		if g.twice > 0 {
			until, undo = len(b.plan.Actions), b.handBack(scaler, deploymentKind(), live.Name)+b.remove("rollout "+to.Name, "")
		}
	}
	b.wayBack("plan.Rollback", until, undo, scaler)
	switch {
	case b.Method == SideBySide:
		b.do("Remove the Deployment and its pods", b.remove("deployment "+live.Name, ""), b.untilGone("deployment/"+live.Name, 600))
	case scaleDown:
		b.do("Scale the Deployment down; it stays as the source of the template", b.kubectl("scale deployment "+live.Name+" --replicas=0"),
			b.untilAvailable(live.Name, 0, 0))
	}
	return b.plan, nil
}

// migrationGuard compares the Deployment with live. For Reference the plan, the
// controller and an autoscaler change its replicas once the Rollout exists.
func (b *builder) migrationGuard(live *appsv1.Deployment, to *rollout.Rollout) (*guard, error) {
	g := &guard{before: state{kind: "Deployment", name: live.Name}, after: state{kind: "Rollout", name: to.Name}, size: "{.spec.replicas}"}
	if b.Method != Adopt {
		g.twice = replicas(live.Spec.Replicas)
	}
	g.before.add("uid", "{.metadata.uid}", string(live.UID))
	since := g.before
	since.lines = slices.Clone(since.lines)
	g.before.add("generation", "{.metadata.generation}", strconv.FormatInt(live.Generation, 10))
	g.before.add("replicas", "{.spec.replicas}", count(live.Spec.Replicas))
	if err := errors.Join(g.before.pods(&live.Spec.Template, live.Spec.Selector), since.pods(&live.Spec.Template, live.Spec.Selector)); err != nil {
		return nil, err
	}
	switch b.Method {
	case Reference:
		g.since = &since
		if ref := to.Spec.WorkloadRef; ref != nil {
			g.after.add("workloadRef", "{.spec.workloadRef.kind}/{.spec.workloadRef.name}", ref.Kind+"/"+ref.Name)
		}
		return g, nil
	case SideBySide:
	case Adopt:
		g.orphans = b.orphaned(live.Spec.Selector, replicas(live.Spec.Replicas), images(&live.Spec.Template))
	}
	if to.Spec.Template == nil {
		return g, nil // rollout.Validate refuses it
	}
	return g, g.after.pods(to.Spec.Template, to.Spec.Selector)
}

// labelOwned labels the ReplicaSets of this Deployment alone. Other ReplicaSets
// may match its selector too, and the Rollout's have the label already.
func (b *builder) labelOwned(live *appsv1.Deployment) string {
	const label = "rollouts-pod-template-hash"
	list := b.get("replicaset -l " + quote(metav1.FormatLabelSelector(live.Spec.Selector)+",!"+label) + " -o jsonpath=" +
		quote(`{range .items[*]}{.metadata.name} {.metadata.ownerReferences[*].uid}{"\n"}{end}`))
	return fmt.Sprintf(`(
sets=$(%s) || exit 1
for name in $(printf '%%s\n' "$sets" | awk '$2 == "%s" { print $1 }'); do
  %s || exit 1
done
)`, list, live.UID, b.kubectl(`label replicaset "$name" `+label+"=legacy"))
}

// target is the Rollout that the plan applies.
func target(live *appsv1.Deployment, to *rollout.Rollout, m Method) *rollout.Rollout {
	to = to.DeepCopy()
	to.APIVersion, to.Kind = rollout.GVK().ToAPIVersionAndKind()
	if to.Namespace == "" {
		to.Namespace = live.Namespace
	}
	to.Spec.Replicas = ptr.To(replicas(live.Spec.Replicas))
	carryMarks(&live.ObjectMeta, &to.ObjectMeta)
	if m == Reference && to.Spec.WorkloadRef == nil {
		to.Spec.WorkloadRef = &rollout.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: live.Name, ScaleDown: "never"}
		to.Spec.Template = nil
	}
	return to
}

// settledDeployment refuses a Deployment whose pods are not all there and of
// one version.
func (b *builder) settledDeployment(live *appsv1.Deployment) {
	path, s, want := field.NewPath("live", "status"), &live.Status, replicas(live.Spec.Replicas)
	if live.DeletionTimestamp != nil {
		b.add(field.Forbidden(field.NewPath("live", "metadata", "deletionTimestamp"), "the Deployment is being deleted"))
	}
	if live.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		b.add(field.NotSupported(field.NewPath("live", "spec", "strategy", "type"), live.Spec.Strategy.Type,
			[]appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType}))
	}
	switch {
	case s.ObservedGeneration == 0:
		b.warn("The Deployment has no status, so this is a preview: its script stops at the first step. A plan needs the live one, as kubectl get -o yaml shows it: replicas are taken from it.")
	case s.ObservedGeneration < live.Generation || s.UpdatedReplicas != want || s.Replicas != want || s.AvailableReplicas < want:
		b.add(field.Forbidden(path, fmt.Sprintf("the Deployment is not settled: of %d pods %d are of this version and %d available; wait, then make a new plan",
			want, s.UpdatedReplicas, s.AvailableReplicas)))
	}
}

func (b *builder) sameWorkload(live *appsv1.Deployment, to *rollout.Rollout) {
	if to.Namespace != live.Namespace {
		b.add(field.Invalid(field.NewPath("metadata", "namespace"), to.Namespace, "must be the Deployment's, "+live.Namespace))
	}
	b.noServicesYet(&to.Spec.Strategy)
	if u := live.Spec.Strategy.RollingUpdate; u != nil {
		b.noneExclusive(u.MaxSurge, &live.Spec.Template.Spec, field.NewPath("live", "spec", "strategy", "rollingUpdate", "maxSurge"))
	}
	if to.Spec.Paused {
		b.add(field.Forbidden(field.NewPath("spec", "paused"), "a paused Rollout starts no pods, and the plan waits until it is healthy; resume the Deployment first, or clear it"))
	}
	ref := to.Spec.WorkloadRef
	if s := to.Spec.Selector; (ref == nil || s != nil) && !equalSelectors(live.Spec.Selector, s) {
		b.add(field.Invalid(field.NewPath("spec", "selector"), metav1.FormatLabelSelector(s),
			"must be the Deployment's, "+metav1.FormatLabelSelector(live.Spec.Selector)))
	}
	switch {
	case b.Method == Reference:
		if ref != nil && (ref.Kind != "Deployment" || ref.Name != live.Name) {
			b.add(field.Invalid(field.NewPath("spec", "workloadRef", "name"), ref.Name, "must be the Deployment "+live.Name))
		}
		return
	case ref != nil:
		b.add(field.Forbidden(field.NewPath("spec", "workloadRef"), "needs the method Reference"))
		return
	}
	b.sameTemplate(migrated, &live.Spec.Template, to.Spec.Template)
	if c := to.Spec.Strategy.Canary; b.Method == Adopt && c != nil {
		b.noneUnavailable(c.MaxSurge, c.MaxUnavailable, replicas(live.Spec.Replicas), inCanary("maxUnavailable"))
	}
}

func (b *builder) warnMigration(live *appsv1.Deployment, to *rollout.Rollout, scaler *autoscalingv2.HorizontalPodAutoscaler) {
	b.warnOwners(&live.ObjectMeta)
	b.warnScalerOwners(scaler)
	b.warnPods(&live.Spec.Template.Spec)
	for _, e := range to.Warnings() {
		b.warn("The Rollout is legal and does not do what a canary is for: " + e.Error())
	}
	if b.Method == Adopt {
		b.warn("Do not undo to a revision from before the Rollout: its template would bring the label pod-template-hash along.")
	}
	if b.Method == Reference {
		b.warn("Set spec.replicas to 0 in the manifest of Deployment " + live.Name + " before its next apply: with more, or without the field, it starts pods of the new version that go through no step.")
		if scaler != nil {
			b.warn("The HorizontalPodAutoscaler " + scaler.Name + " must not target the Deployment again: it would stop at 0 replicas.")
		}
	}
	if replicas(live.Spec.Replicas) == 0 {
		b.warn("The Deployment has 0 replicas: nothing is tested until it is scaled up.")
	}
}

func inCanary(name string) *field.Path { return field.NewPath("spec", "strategy", "canary", name) }
