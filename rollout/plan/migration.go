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
// pods, such as rollout.Convert returns for its rendered manifest. from is the
// object as the server returns it. others are the objects of the namespace that
// may name the Deployment by its kind: all HorizontalPodAutoscalers, and
// ScaledObjects and VerticalPodAutoscalers where the cluster has these kinds.
// The plan hands a HorizontalPodAutoscaler and its ScaledObject over.
//
// The Rollout gets the replicas that the Deployment has when the plan runs.
// Migration refuses what would lose capacity or skip steps, and reports the
// problems in one call: another pod template or selector, a rollout in
// progress, a maxSurge of 0, Services that the controller would take over, two
// HorizontalPodAutoscalers, and a Rollout that is paused or has no template.
// What Rollout.Warnings finds is a warning. Migration changes none of its
// arguments.
func Migration(
	from *unstructured.Unstructured, to *rollout.Rollout, others []unstructured.Unstructured, o Options,
) (Plan, field.ErrorList) {
	var live appsv1.Deployment
	errs := read(from, appsv1.SchemeGroupVersion.WithKind(deploymentKind), &live)
	if to == nil {
		errs = append(errs, field.Required(field.NewPath("rollout"), "a plan needs the Rollout"))
	}
	if len(errs) > 0 {
		return Plan{}, errs
	}
	kept := to.Spec.Replicas
	to = to.DeepCopy()
	to.SetGroupVersionKind(rollout.GVK())
	to.Spec.Replicas = ptr.To(ptr.Deref(live.Spec.Replicas, 1))
	if to.Namespace == "" {
		to.Namespace = live.Namespace
	}
	carryHelmRelease(&live.ObjectMeta, &to.ObjectMeta)
	p := &planner{Options: o, old: ofDeployment(&live), new: ofRollout(to)}

	path := field.NewPath("live")
	p.mayOverlap(&live, path)
	s := &live.Status
	if s.ObservedGeneration < live.Generation || s.UpdatedReplicas != s.Replicas {
		p.add(path.Child("status"), fmt.Sprintf("a rollout is in progress: of %d pods %d are of this "+
			"version; wait, then make a new plan", s.Replicas, s.UpdatedReplicas))
	}
	if to.Spec.Paused {
		p.add(field.NewPath("spec", "paused"), "a paused Rollout starts no pods, and the plan waits "+
			"for them; resume the Deployment first, or clear it")
	}
	p.services(to, nil, "the controller would point the Service %s at pods that are not there yet; "+
		"switch to a canary that refers to no Service, and set it once the Rollout is healthy")
	p.sameTemplate("the first revision of a Rollout goes through no steps, so all users would get it " +
		"immediately; switch first, change later")
	for _, e := range to.Warnings() {
		p.warn("The Rollout is legal and does not do what a canary is for: %v", e)
	}
	p.warnReplicas(kept)
	return p.finish(from, to, others)
}

// mayOverlap refuses a Deployment that says that one pod more cannot work. A
// plan runs twice the pods.
func (p *planner) mayOverlap(d *appsv1.Deployment, path *field.Path) {
	strategy := path.Child("spec", "strategy")
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		p.add(strategy.Child("type"), "Recreate says that two pods cannot run at the same time, and a "+
			"plan runs twice the pods; want RollingUpdate")
	}
	update := d.Spec.Strategy.RollingUpdate
	if update == nil || update.MaxSurge == nil {
		return
	}
	surge := update.MaxSurge.String()
	if surge == "0" || surge == "0%" {
		p.add(strategy.Child("rollingUpdate", "maxSurge"), "0 says that one pod more cannot work, and "+
			"a plan runs twice the pods; if two can work, set 1. Otherwise delete the old workload, wait "+
			"until its pods are gone, and apply the new one: that is a moment without pods")
	}
}

func (p *planner) warnReplicas(kept *int32) {
	if kept != nil && *kept != p.old.replicas {
		p.warn("The manifest has %d replicas and %d run: the next apply of it changes their number.",
			*kept, p.old.replicas)
	}
}
