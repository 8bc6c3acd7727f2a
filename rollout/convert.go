// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
// with paths into the Rollout, or into d for what only a Deployment has. What
// [Rollout.Warnings] finds is an error here too: Convert makes canaries.
//
// Name, namespace, labels, annotations, owners, finalizers, replicas, selector,
// template, minReadySeconds, revisionHistoryLimit, progressDeadlineSeconds and
// paused are copied from d. Convert leaves out what only a server sets (uid,
// resourceVersion, managed fields, status), the two annotations that describe
// the Deployment itself, and all of template.metadata but labels and
// annotations, as the CRD does.
//
// If d has a maxSurge or a maxUnavailable other than the default 25%, the
// Rollout gets both from d, and 25% for one that is missing. o overrides each.
// The strategy Recreate is an error, because a Rollout has nothing like it. If
// d has maxSurge 0, and its pods use a PersistentVolumeClaim, a hostPort,
// hostNetwork or a required podAntiAffinity, then a maxSurge of o is an error:
// d says that one more pod cannot work.
func Convert(d *appsv1.Deployment, o Options) (*Rollout, field.ErrorList) {
	if d == nil {
		path := field.NewPath("deployment")
		return nil, field.ErrorList{field.Required(path, "there is none to convert")}
	}
	errs := notConvertible(d, &o)
	r := convert(d, &o)
	var unread field.ErrorList
	if o.Mutate != nil {
		u, err := r.Unstructured()
		if err != nil {
			return nil, append(errs, field.InternalError(field.NewPath("spec"), err))
		}
		o.Mutate(u)
		r, unread = parse(u.Object, true)
	}
	p := r.check(unread)
	errs = append(errs, follow(unread, append(p.errs, p.warnings...))...)
	if len(errs) > 0 {
		return nil, errs
	}
	return r, nil
}

// notConvertible are the errors of a Deployment that cannot become a Rollout.
func notConvertible(d *appsv1.Deployment, o *Options) (errs field.ErrorList) {
	strategy := d.Spec.Strategy.Type
	if strategy == appsv1.RecreateDeploymentStrategyType {
		accepted := []appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType}
		errs = append(errs, field.NotSupported(at("strategy", "type"), strategy, accepted))
	}
	if d.DeletionTimestamp != nil {
		path := field.NewPath("metadata", "deletionTimestamp")
		errs = append(errs, field.Forbidden(path, "the Deployment is being deleted"))
	}
	update := d.Spec.Strategy.RollingUpdate
	if update == nil || !isZero(update.MaxSurge) || o.MaxSurge == nil || isZero(o.MaxSurge) {
		return errs
	}
	if path := exclusive(&d.Spec.Template.Spec); path != nil {
		errs = append(errs, field.Invalid(inCanary("maxSurge"), o.MaxSurge.String(), fmt.Sprintf(
			"the Deployment has maxSurge 0, and its pods have %s, which two pods at the same time "+
				"may not share; leave Options.MaxSurge unset", path)))
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
	r.APIVersion = apiVersion
	r.Kind = kind
	if o.OmitReplicas {
		r.Spec.Replicas = nil
	}
	return r
}

func convertMeta(m *metav1.ObjectMeta, instanceID string) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Name:            m.Name,
		GenerateName:    m.GenerateName,
		Namespace:       m.Namespace,
		Labels:          m.Labels,
		Annotations:     m.Annotations,
		OwnerReferences: m.OwnerReferences,
		Finalizers:      m.Finalizers,
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

func isZero(v *intstr.IntOrString) bool {
	n, ok := size(v)
	return ok && n == 0
}

// exclusive is the first field that two pods at the same time may not share, or
// nil.
func exclusive(s *corev1.PodSpec) *field.Path {
	path := at("template", "spec")
	if s.HostNetwork {
		return path.Child("hostNetwork")
	}
	for i := range s.Volumes {
		if s.Volumes[i].PersistentVolumeClaim != nil {
			return path.Child("volumes").Index(i).Child("persistentVolumeClaim")
		}
	}
	for _, c := range containers(s) {
		for i := range c.of.Ports {
			if c.of.Ports[i].HostPort != 0 {
				return c.path.Child("ports").Index(i).Child("hostPort")
			}
		}
	}
	if s.Affinity == nil || s.Affinity.PodAntiAffinity == nil {
		return nil
	}
	if len(s.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		return path.Child("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
	}
	return nil
}
