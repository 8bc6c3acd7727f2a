// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// instanceLabel is what controllers started with --instance-id look for (upstream: LabelKeyControllerInstanceID).
const instanceLabel = "argo-rollouts.argoproj.io/controller-instance-id"

// Render returns d itself, the same pointer and untouched, when enabled is false, and the Rollout of [Convert] when it is
// true. The error joins all that is wrong; a nil Deployment is an error either way, and one with strategy Recreate when it is true,
// as a Rollout has no such thing.
//
// Options are not looked at when enabled is false: to find a bad step before it is switched on, call Convert in a unit test. For a
// workload that runs already, do not just apply the result: package plan says in which order.
func Render(d *appsv1.Deployment, enabled bool, o Options) (runtime.Object, error) {
	if !enabled && d != nil {
		return d, nil
	}
	r, errs := Convert(d, o)
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	return r, nil
}

// Convert makes the Rollout of a Deployment. d is not changed and shares no memory with the result, which is nil if
// anything is wrong; all that is wrong is reported at once, with paths into the Rollout.
//
// Name, namespace, labels, annotations, owners and finalizers stay, but for the annotations that tell of the Deployment
// alone. Replicas, selector, template, minReadySeconds, revisionHistoryLimit, progressDeadlineSeconds and paused are taken over one
// to one. The strategy is replaced, since a live Deployment always has the 25% of Kubernetes' defaults; Recreate is an
// error, since a Rollout has nothing like it. What only a server sets (uid, resourceVersion, managed fields, status) is
// left behind, and so is all of template.metadata but labels and annotations, as the CRD would do it.
func Convert(d *appsv1.Deployment, o Options) (*Rollout, field.ErrorList) {
	if d == nil {
		return nil, field.ErrorList{field.Required(field.NewPath("deployment"), "there is none to convert")}
	}
	var errs field.ErrorList
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		errs = append(errs, field.NotSupported(field.NewPath("spec", "strategy", "type"), d.Spec.Strategy.Type,
			[]appsv1.DeploymentStrategyType{appsv1.RollingUpdateDeploymentStrategyType}))
	}
	if d.DeletionTimestamp != nil {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "deletionTimestamp"), "the Deployment is being deleted"))
	}
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
	if errs = append(errs, follow(unread, r.validate(unread))...); len(errs) > 0 {
		return nil, errs
	}
	return r, nil
}

func convert(d *appsv1.Deployment, o *Options) *Rollout {
	r := &Rollout{
		ObjectMeta: convertMeta(&d.ObjectMeta, o.InstanceID),
		Spec: Spec{
			Replicas:                copied(d.Spec.Replicas),
			Selector:                d.Spec.Selector.DeepCopy(),
			Template:                convertTemplate(&d.Spec.Template),
			MinReadySeconds:         d.Spec.MinReadySeconds,
			RevisionHistoryLimit:    copied(d.Spec.RevisionHistoryLimit),
			Paused:                  d.Spec.Paused,
			ProgressDeadlineSeconds: copied(d.Spec.ProgressDeadlineSeconds),
			ProgressDeadlineAbort:   o.AbortOnDeadline,
			Strategy:                Strategy{Canary: convertStrategy(o)},
		},
	}
	r.APIVersion, r.Kind = apiVersion, kind
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
	// Both tell of the Deployment: its revision, and what kubectl would compare the next apply with.
	maps.DeleteFunc(out.Annotations, func(key, _ string) bool {
		return key == "deployment.kubernetes.io/revision" || key == "kubectl.kubernetes.io/last-applied-configuration"
	})
	if instanceID != "" {
		if out.Labels == nil {
			out.Labels = map[string]string{}
		}
		out.Labels[instanceLabel] = instanceID
	}
	return out
}

func convertTemplate(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	out := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels: maps.Clone(t.Labels), Annotations: maps.Clone(t.Annotations),
	}}
	t.Spec.DeepCopyInto(&out.Spec)
	return out
}

func convertStrategy(o *Options) *Canary {
	c := &Canary{MaxSurge: copied(o.MaxSurge), MaxUnavailable: copied(o.MaxUnavailable), Steps: copySteps(o.Steps)}
	if c.MaxSurge == nil {
		c.MaxSurge = new(intstr.FromInt32(1))
	}
	if c.MaxUnavailable == nil {
		c.MaxUnavailable = new(intstr.FromInt32(0))
	}
	if len(c.Steps) == 0 {
		c.Steps = []Step{Weight(20), PauseManual()}
	}
	return c
}
