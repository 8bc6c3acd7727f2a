// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

// Rollback plans the return from a live Rollout to the Deployment of the same
// pods. For from and others see [Migration].
//
// The Deployment gets the replicas that the Rollout has when the plan runs.
// Rollback refuses what would lose capacity or replace a version, and reports
// all of it in one call: another pod template, unless
// Options.AllowTemplateChange; a Rollout whose pods may run another version
// than its template has, unless Options.AllowTwoVersions; a workloadRef;
// another selector; the strategy Recreate or a maxSurge of 0; a paused
// Deployment; two HorizontalPodAutoscalers; Services that the controller keeps
// to the Rollout's pods. A Rollout may be Degraded: which version its pods run
// is what counts. Rollback changes none of its arguments.
func Rollback(
	from *unstructured.Unstructured, to *appsv1.Deployment,
	others []unstructured.Unstructured, o Options,
) (Plan, field.ErrorList) {
	var live rollout.Rollout
	errs := read(from, rollout.GVK(), &live)
	if to == nil {
		errs = append(errs, field.Required(field.NewPath("deployment"), "a plan needs the Deployment"))
	}
	if len(errs) > 0 {
		return Plan{}, errs
	}
	path := field.NewPath("live")
	if live.Spec.WorkloadRef != nil || live.Spec.Template == nil {
		return Plan{}, field.ErrorList{field.Forbidden(path.Child("spec", "workloadRef"),
			"a plan is for a Rollout with a template; with a workloadRef set scaleDown to never, "+
				"scale the Deployment up, wait until its pods are available, and delete the Rollout")}
	}
	kept := to.Spec.Replicas
	to = deployment(&live, to)
	p := &planner{Options: o, old: ofRollout(&live), new: ofDeployment(to)}
	p.fields = ", stable {.status.stableRS}, current {.status.currentPodHash}"
	p.versions = fmt.Sprintf(", stable %s, current %s", live.Status.StableRS, live.Status.CurrentPodHash)

	p.oneVersion(&live)
	p.mayOverlap(to, nil)
	if to.Spec.Paused {
		p.add(field.NewPath("spec", "paused"),
			"a paused Deployment starts no pods, and the plan waits for them; clear it")
	}
	p.services(&live, path, "the controller keeps the Service %s to the pods of the Rollout; "+
		"make it a canary that refers to no Service, wait until the selector of the Service has no "+
		"rollouts-pod-template-hash, then make a new plan")
	if !o.AllowTemplateChange {
		p.sameTemplate("the plan would change it in all pods without steps; set " +
			"Options.AllowTemplateChange if that is meant")
	}
	p.warnReplicas(kept)
	return p.finish(from, to, others)
}

// deployment is the Deployment that the plan applies, without the fields that
// only a server sets.
func deployment(from *rollout.Rollout, to *appsv1.Deployment) *appsv1.Deployment {
	to = to.DeepCopy()
	to.ObjectMeta = metav1.ObjectMeta{
		Name:            to.Name,
		Namespace:       to.Namespace,
		Labels:          to.Labels,
		Annotations:     to.Annotations,
		OwnerReferences: to.OwnerReferences,
	}
	to.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(deploymentKind))
	delete(to.Annotations, "deployment.kubernetes.io/revision")
	delete(to.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	to.Spec.Replicas = ptr.To(ptr.Deref(from.Spec.Replicas, 1))
	if to.Namespace == "" {
		to.Namespace = from.Namespace
	}
	carryHelmRelease(&from.ObjectMeta, &to.ObjectMeta)
	return to
}

// oneVersion refuses a Rollout whose pods may run another version than the one
// of its template.
func (p *planner) oneVersion(r *rollout.Rollout) {
	s := &r.Status
	seen := s.ObservedGeneration == strconv.FormatInt(r.Generation, 10)
	stable := s.StableRS != "" && s.StableRS == s.CurrentPodHash
	if seen && stable && s.UpdatedReplicas == s.Replicas {
		return
	}
	phase, why := rollout.PhaseOf(r, 0)
	is := "The Rollout is " + string(phase)
	if why != "" {
		is += " (" + why + ")"
	}
	is += fmt.Sprintf(", and %d of %d pods run the version of its template.", s.UpdatedReplicas, s.Replicas)
	if p.AllowTwoVersions {
		p.warn("%s The Deployment's pods replace all of them: make sure that it has the version that "+
			"you want.", is)
		return
	}
	p.add(field.NewPath("live", "status"), is+" Promote it or put the old template back, and wait until "+
		"all do. Or set Options.AllowTwoVersions if the Deployment has the version that you want")
}
