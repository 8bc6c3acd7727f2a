// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

// Migration plans the switch from a live Deployment to a Rollout of the same
// pods, such as rollout.Convert returns for its rendered manifest. others are
// the objects of the namespace that may name the Deployment by its kind, such
// as all HorizontalPodAutoscalers, ScaledObjects and VerticalPodAutoscalers.
// The plan hands a HorizontalPodAutoscaler over. Others are warnings.
//
// The Rollout gets the replicas of the live Deployment. Migration refuses what
// would lose capacity or skip steps, and reports the problems in one call:
// another image, a container more or less, another selector, a rollout in
// progress, Services that the controller would take over, two
// HorizontalPodAutoscalers, a workloadRef, and a Rollout that rollout.Validate
// refuses. What Rollout.Warnings finds is a warning. A Deployment without a
// uid, such as a rendered one, gives a preview: its script stops at the first
// step. Migration changes none of its arguments.
func Migration(
	from *appsv1.Deployment, to *rollout.Rollout, others []unstructured.Unstructured, o Options,
) (Plan, field.ErrorList) {
	if from == nil || to == nil {
		return Plan{}, field.ErrorList{field.Required(field.NewPath("live"), "a plan needs the "+
			"live Deployment and the Rollout")}
	}
	kept := to.Spec.Replicas
	to = applied(from, to)
	p := &planner{Options: o, old: ofDeployment(from), new: ofRollout(to)}
	scaler := p.scaler(others)
	p.add(rollout.Validate(to)...)
	p.settled(from)
	p.sameWorkload()
	p.canStart(to)
	p.noServicesYet(to)
	p.twoPods(from, field.NewPath("live", "spec", "strategy", "rollingUpdate", "maxSurge"))
	p.sameContainers("the first revision of a Rollout goes through no steps, so all users " +
		"would get it immediately; " +
		"switch first, change later")

	p.warnOwners()
	p.warnScalerOwners(scaler)
	p.warnPods()
	for _, e := range to.Warnings() {
		p.warn("The Rollout is legal and does not do what a canary is for: %v", e)
	}
	p.warnWeights(to)
	p.warnReplicas(kept)
	return p.finish(to, scaler)
}

func ofDeployment(d *appsv1.Deployment) *workload {
	return &workload{
		gvk:      appsv1.SchemeGroupVersion.WithKind(deploymentKind),
		meta:     &d.ObjectMeta,
		replicas: ptr.Deref(d.Spec.Replicas, 1),
		minReady: d.Spec.MinReadySeconds,
		selector: d.Spec.Selector,
		template: &d.Spec.Template,
	}
}

func ofRollout(r *rollout.Rollout) *workload {
	return &workload{
		gvk:      rollout.GVK(),
		meta:     &r.ObjectMeta,
		replicas: ptr.Deref(r.Spec.Replicas, 1),
		minReady: r.Spec.MinReadySeconds,
		selector: r.Spec.Selector,
		template: r.Spec.Template,
	}
}

// applied is the Rollout that the plan applies.
func applied(from *appsv1.Deployment, to *rollout.Rollout) *rollout.Rollout {
	to = to.DeepCopy()
	to.APIVersion, to.Kind = rollout.GVK().ToAPIVersionAndKind()
	if to.Namespace == "" {
		to.Namespace = from.Namespace
	}
	to.Spec.Replicas = ptr.To(ptr.Deref(from.Spec.Replicas, 1))
	carryMarks(&from.ObjectMeta, &to.ObjectMeta)
	return to
}

// settled refuses a Deployment whose pods are not all there and of one version.
func (p *planner) settled(from *appsv1.Deployment) {
	if from.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		p.add(notRecreate(field.NewPath("live", "spec", "strategy", "type")))
	}
	if from.UID == "" {
		p.warn("The Deployment has no uid, so this is a preview: its script stops at the " +
			"first step. " +
			"A plan needs the live one, as kubectl get -o yaml shows it: replicas are " +
			"taken from it.")
		return
	}
	s := &from.Status
	want := p.old.replicas
	seen := s.ObservedGeneration >= from.Generation
	complete := s.Replicas == want && s.UpdatedReplicas == want && s.AvailableReplicas >= want
	if !seen || !complete {
		p.add(field.Forbidden(field.NewPath("live", "status"), fmt.Sprintf(
			"the Deployment is not settled: of %d pods %d are of this version and %d "+
				"available; wait, then make a new plan",
			want, s.UpdatedReplicas, s.AvailableReplicas)))
	}
}

func notRecreate(path *field.Path) *field.Error {
	return field.NotSupported(path, appsv1.RecreateDeploymentStrategyType,
		[]appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType})
}

func (p *planner) canStart(to *rollout.Rollout) {
	if to.Spec.Paused {
		p.add(field.Forbidden(field.NewPath("spec", "paused"),
			"a paused Rollout starts no pods, and the plan waits for them; resume the "+
				"Deployment first, or clear it"))
	}
	if to.Spec.WorkloadRef != nil {
		p.add(field.Forbidden(field.NewPath("spec", "workloadRef"),
			"a plan is for a Rollout with a template; with a workloadRef the controller does "+
				"the switch, see scaleDown"))
	}
}

func (p *planner) warnReplicas(kept *int32) {
	n := p.old.replicas
	if kept != nil && *kept != n {
		p.warn("The manifest has %d replicas and %d run: the next apply of it changes "+
			"their number.", *kept, n)
	}
	if n == 0 {
		p.warn("The %s has 0 replicas: nothing is tested until it is scaled up.", p.old.gvk.Kind)
	}
}

// warnWeights names steps that change no pods.
func (p *planner) warnWeights(to *rollout.Rollout) {
	c := to.Spec.Strategy.Canary
	if c == nil || c.TrafficRouting != nil || p.new.replicas == 0 {
		return
	}
	var last *int32
	for _, s := range c.Steps {
		if s.SetWeight == nil {
			continue
		}
		if last != nil && *last != *s.SetWeight {
			before, _ := to.Counts(*last)
			pods, _ := to.Counts(*s.SetWeight)
			if before == pods {
				p.warn("Of %d pods, the weights %d and %d are the same: %d of the new version.",
					p.new.replicas, *last, *s.SetWeight, pods)
			}
		}
		last = s.SetWeight
	}
}
