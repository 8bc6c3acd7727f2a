// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// instanceLabel is what controllers started with --instance-id look for
// (upstream: LabelKeyControllerInstanceID).
const instanceLabel = "argo-rollouts.argoproj.io/controller-instance-id"

// Render returns d itself, the same pointer and untouched, when enabled is
// false, and the Rollout of [Convert] when it is true. The error joins all that
// is wrong. A nil Deployment is always an error. With enabled, the strategy
// Recreate is one too, because a Rollout has nothing like it.
//
// Options are not looked at when enabled is false: to find a bad step before it
// is switched on, call Convert in a unit test. For a workload that runs
// already, do not just apply the result: package plan says in which order.
func Render(d *appsv1.Deployment, enabled bool, o Options) (runtime.Object, error) {
	if !enabled && d != nil {
		return d, nil
	}
	r, errs := Convert(d, o)
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("rollout: render: %w", err)
	}
	return r, nil
}

// Convert makes the Rollout of a Deployment. It does not change d, and shares
// no memory with it. If anything is wrong it returns nil and all the errors,
// with paths into the Rollout, or into d for the fields of a Deployment alone.
// The problems that [Rollout.Warnings] finds are errors here too: Convert makes
// canaries.
//
// Convert copies name, namespace, labels, annotations, owners, replicas,
// selector, template, minReadySeconds, revisionHistoryLimit,
// progressDeadlineSeconds and paused. It leaves out the fields that only a
// server sets, the finalizers, the two annotations that describe a Deployment,
// and all of template.metadata but labels and annotations, as the CRD does.
//
// If d has a maxSurge or a maxUnavailable other than the default 25%, the
// Rollout gets both from d, and 25% for one that is missing. o overrides each.
// The strategy Recreate is an error, because a Rollout has nothing like it.
//
// Convert makes the checks of upstream's controller (v1.10.2), and refuses a
// few things that the controller accepts and cannot carry out. Of a pod
// template it checks the labels, the annotations, and fields that a Deployment
// may have and a Rollout may not. The API server knows the other rules for
// pods.
func Convert(d *appsv1.Deployment, o Options) (*Rollout, field.ErrorList) {
	if d == nil {
		path := field.NewPath("deployment")
		return nil, field.ErrorList{field.Required(path, "there is none to convert")}
	}
	r := convert(d, &o)
	errs := notConvertible(d)
	if o.Mutate != nil {
		o.Mutate(r)
		errs = append(errs, r.notFromDeployment()...)
	}
	r.SetGroupVersionKind(GVK())
	p := r.check()
	errs = append(errs, p.errs...)
	errs = append(errs, p.warnings...)
	if len(errs) > 0 {
		return nil, errs
	}
	return r, nil
}

// notConvertible are the errors of a Deployment that cannot become a Rollout.
func notConvertible(d *appsv1.Deployment) (errs field.ErrorList) {
	strategy := d.Spec.Strategy.Type
	if strategy == appsv1.RecreateDeploymentStrategyType {
		accepted := []appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType}
		errs = append(errs, field.NotSupported(at("strategy", "type"), strategy, accepted))
	}
	if d.DeletionTimestamp != nil {
		path := field.NewPath("metadata", "deletionTimestamp")
		errs = append(errs, field.Forbidden(path, "the Deployment is being deleted"))
	}
	return errs
}

// notFromDeployment are the errors of a Rollout that Mutate gave other pods
// than the Deployment's, another strategy, or a status.
func (r *Rollout) notFromDeployment() (errs field.ErrorList) {
	forbid := func(set bool, path *field.Path, detail string) {
		if set {
			errs = append(errs, field.Forbidden(path, detail))
		}
	}
	forbid(r.Spec.WorkloadRef != nil, at("workloadRef"), "the template is the Deployment's; "+
		"write a Rollout with a workloadRef by hand")
	forbid(r.Spec.Strategy.BlueGreen != nil, at("strategy", "blueGreen"), "Convert makes canaries")
	forbid(!reflect.ValueOf(r.Status).IsZero(), field.NewPath("status"), "status is the controller's")
	_, err := json.Marshal(r)
	if err != nil {
		errs = append(errs, field.InternalError(field.NewPath("spec"), err))
	}
	return errs
}

func convert(d *appsv1.Deployment, o *Options) *Rollout {
	template := d.Spec.Template.DeepCopy()
	template.ObjectMeta = metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations}
	r := &Rollout{
		ObjectMeta: convertMeta(&d.ObjectMeta, o.InstanceID),
		Spec: Spec{
			Replicas:                copied(d.Spec.Replicas),
			Selector:                d.Spec.Selector.DeepCopy(),
			Template:                template,
			MinReadySeconds:         d.Spec.MinReadySeconds,
			RevisionHistoryLimit:    copied(d.Spec.RevisionHistoryLimit),
			Paused:                  d.Spec.Paused,
			ProgressDeadlineSeconds: copied(d.Spec.ProgressDeadlineSeconds),
			ProgressDeadlineAbort:   o.ProgressDeadlineAbort,
			Strategy:                Strategy{Canary: convertStrategy(d, o)},
		},
	}
	if o.OmitReplicas {
		r.Spec.Replicas = nil
	}
	return r
}

func convertMeta(m *metav1.ObjectMeta, instanceID string) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Name:            m.Name,
		Namespace:       m.Namespace,
		Labels:          m.Labels,
		Annotations:     m.Annotations,
		OwnerReferences: m.OwnerReferences,
	}
	out := *kept.DeepCopy()
	// Both describe the Deployment: its revision, and what kubectl would
	// compare the next apply with.
	delete(out.Annotations, "deployment.kubernetes.io/revision")
	delete(out.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if instanceID != "" {
		if out.Labels == nil {
			out.Labels = map[string]string{}
		}
		out.Labels[instanceLabel] = instanceID
	}
	return out
}

func convertStrategy(d *appsv1.Deployment, o *Options) *Canary {
	c := &Canary{
		MaxSurge:       copied(o.MaxSurge),
		MaxUnavailable: copied(o.MaxUnavailable),
		Steps:          copySteps(o.Steps),
	}
	surge := intstr.FromInt32(1)
	unavailable := intstr.FromInt32(0)
	update := ptr.Deref(d.Spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
	if explicit(update.MaxSurge) || explicit(update.MaxUnavailable) {
		surge = ptr.Deref(update.MaxSurge, intstr.FromString("25%"))
		unavailable = ptr.Deref(update.MaxUnavailable, intstr.FromString("25%"))
	}
	if c.MaxSurge == nil {
		c.MaxSurge = &surge
	}
	if c.MaxUnavailable == nil {
		c.MaxUnavailable = &unavailable
	}
	if len(c.Steps) == 0 {
		c.Steps = []Step{SetWeight(20), PauseManual()}
	}
	return c
}

// explicit: a server sets 25% where a manifest has nothing.
func explicit(v *intstr.IntOrString) bool { return v != nil && *v != intstr.FromString("25%") }
