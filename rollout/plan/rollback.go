// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// liveRollout is the part of a live Rollout that a rollback is planned by.
// Unlike rollout.Validate it takes any Rollout that a cluster may hold: going
// back must be possible from a bad one too.
type liveRollout struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas    *int32                  `json:"replicas"`
		Selector    *metav1.LabelSelector   `json:"selector"`
		Template    *corev1.PodTemplateSpec `json:"template"`
		WorkloadRef *rollout.WorkloadRef    `json:"workloadRef"`
	} `json:"spec"`
	Status struct {
		CurrentPodHash string `json:"currentPodHash"`
		StableRS       string `json:"stableRS"`
	} `json:"status"`
}

// Rollback plans the return from a live Rollout to the Deployment of the same
// pods. For others see [Migration]. A Rollout without a uid, such as
// rollout.Convert makes, gives a preview: its script stops at the first step.
//
// The Deployment gets the replicas of the live Rollout. Rollback refuses what
// would lose capacity or replace a version, and reports all of it in one call:
// another image or a container more or less, and a Rollout that is not Healthy,
// unless Options.AllowTemplateChange; a workloadRef; another selector; the
// strategy Recreate; a paused Deployment; two HorizontalPodAutoscalers;
// Services that the controller keeps to the Rollout's pods. Rollback changes
// none of its arguments.
func Rollback(
	from *unstructured.Unstructured, to *appsv1.Deployment,
	others []unstructured.Unstructured, o Options,
) (Plan, field.ErrorList) {
	path := field.NewPath("live")
	if from == nil || to == nil {
		return Plan{}, field.ErrorList{field.Required(path, "a plan needs the live Rollout and "+
			"the Deployment")}
	}
	if from.GroupVersionKind() != rollout.GVK() {
		accepted := []string{rollout.GVK().String()}
		is := from.GroupVersionKind().String()
		return Plan{}, field.ErrorList{field.NotSupported(path.Child("kind"), is, accepted)}
	}
	var r liveRollout
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, &r); err != nil {
		return Plan{}, field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, err.Error())}
	}
	if r.Spec.WorkloadRef != nil || r.Spec.Template == nil {
		return Plan{}, field.ErrorList{field.Forbidden(path.Child("spec", "workloadRef"),
			"a plan is for a Rollout with a template; with a workloadRef set "+
				"scaleDown to never, "+
				"scale the Deployment up, wait until its pods are available, and delete "+
				"the Rollout")}
	}
	kept := to.Spec.Replicas
	to = deployment(&r, to)
	p := &planner{Options: o, old: r.workload(), new: ofDeployment(to)}
	p.version = &version{stable: r.Status.StableRS, current: r.Status.CurrentPodHash}
	scaler := p.scaler(others)
	p.healthy(from)
	p.sameWorkload()
	p.starts(to)
	p.noServicesAnyMore(from)
	p.twoPods(to, field.NewPath("spec", "strategy", "rollingUpdate", "maxSurge"))
	if !o.AllowTemplateChange {
		p.sameContainers("the plan would replace it in all pods; set " +
			"Options.AllowTemplateChange if that is meant")
	}

	p.warnOwners()
	p.warnScalerOwners(scaler)
	p.warnPods()
	p.warnReplicas(kept)
	return p.finish(to, scaler)
}

func (r *liveRollout) workload() *workload {
	return &workload{
		gvk:      rollout.GVK(),
		meta:     &r.ObjectMeta,
		replicas: ptr.Deref(r.Spec.Replicas, 1),
		selector: r.Spec.Selector,
		template: r.Spec.Template,
	}
}

// deployment is the Deployment that the plan applies, without the fields that
// only a server sets.
func deployment(from *liveRollout, to *appsv1.Deployment) *appsv1.Deployment {
	to = to.DeepCopy()
	to.ObjectMeta = metav1.ObjectMeta{
		Name:            to.Name,
		Namespace:       to.Namespace,
		Labels:          to.Labels,
		Annotations:     to.Annotations,
		OwnerReferences: to.OwnerReferences,
		Finalizers:      to.Finalizers,
	}
	to.APIVersion = appsv1.SchemeGroupVersion.String()
	to.Kind = deploymentKind
	if to.Namespace == "" {
		to.Namespace = from.Namespace
	}
	delete(to.Annotations, "deployment.kubernetes.io/revision")
	delete(to.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	to.Spec.Replicas = ptr.To(ptr.Deref(from.Spec.Replicas, 1))
	carryMarks(&from.ObjectMeta, &to.ObjectMeta)
	return to
}

// healthy refuses a Rollout whose pods may run another version than the one of
// its template.
func (p *planner) healthy(from *unstructured.Unstructured) {
	if from.GetUID() == "" {
		p.warn("The Rollout has no uid, so this is a preview: its script stops at the " +
			"first step. " +
			"A plan needs the live one, as kubectl get -o yaml shows it: " +
			"replicas are taken from it, and whether a canary is in progress.")
		return
	}
	phase, why := live.PhaseOf(from)
	if phase == live.Healthy {
		return
	}
	is := "The Rollout is " + string(phase)
	if why != "" {
		is += " (" + why + ")"
	}
	is += ": its pods may run another version than its template has."
	if p.AllowTemplateChange {
		p.warn("%s All pods are replaced by the Deployment's: make sure that it has the image "+
			"that you want.", is)
		return
	}
	p.add(field.Forbidden(field.NewPath("live", "status"), is+" Promote it or put the old "+
		"template back, "+
		"and wait until it is Healthy. Or set Options.AllowTemplateChange if the Deployment "+
		"has the image that you want"))
}

func (p *planner) starts(to *appsv1.Deployment) {
	if to.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		p.add(notRecreate(field.NewPath("spec", "strategy", "type")))
	}
	if to.Spec.Paused {
		p.add(field.Forbidden(field.NewPath("spec", "paused"),
			"a paused Deployment starts no pods, and the plan waits for them; clear it"))
	}
}
