// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/validation"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/rollout"
)

// deployment is one as charts make them: a container with ports, environment,
// probes, resources and a volume.
func deployment() *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "agents", "app.kubernetes.io/instance": "prod"}
	probe := func(path string) *corev1.Probe {
		get := &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http")}
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: get}, PeriodSeconds: 10}
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "agents", Namespace: "shop", Labels: labels, Annotations: map[string]string{"meta.helm.sh/release-name": "prod"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(5)), RevisionHistoryLimit: new(int32(10)), ProgressDeadlineSeconds: new(int32(600)), MinReadySeconds: 5,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"checksum/config": "0123456789abcdef"}},
				Spec: corev1.PodSpec{
					ServiceAccountName: "agents",
					Volumes:            []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "agents"}}}}},
					Containers: []corev1.Container{{
						Name: "agents", Image: "registry.example.com/agents:1.2.3",
						Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
						Env:          []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu"}},
						VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/agents"}},
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
							Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
						},
						LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
					}},
				},
			},
		},
	}
}

// theirs is the same Rollout in upstream's types, written with care. Like the
// library's, it shares no memory with the Deployment.
func theirs(d *appsv1.Deployment) *v1alpha1.Rollout {
	meta := d.ObjectMeta.DeepCopy()
	return &v1alpha1.Rollout{
		TypeMeta:   metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout"},
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels, Annotations: meta.Annotations},
		Spec: v1alpha1.RolloutSpec{
			Replicas: new(*d.Spec.Replicas), Selector: d.Spec.Selector.DeepCopy(), Template: *d.Spec.Template.DeepCopy(),
			MinReadySeconds: d.Spec.MinReadySeconds, RevisionHistoryLimit: new(*d.Spec.RevisionHistoryLimit), ProgressDeadlineSeconds: new(*d.Spec.ProgressDeadlineSeconds),
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{
				MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
				Steps: []v1alpha1.CanaryStep{{SetWeight: new(int32(20))}, {Pause: &v1alpha1.RolloutPause{}}},
			}},
		},
	}
}

// work is what a program does with one Deployment, over and over.
func work(context.Context) ([]bench.Measure, error) {
	d := deployment()
	ours, errs := rollout.Convert(d, rollout.Options{})
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	peer := theirs(d)
	if errs := validation.ValidateRollout(peer); len(errs) > 0 {
		return nil, fmt.Errorf("upstream refuses it: %w", errs.ToAggregate())
	}
	return []bench.Measure{
		{
			Name: "Render, off", Gates: []bench.Gate{{Unit: bench.Allocs, Limit: "= 0"}},
			Ours: bench.Subject{Do: bench.Each(func() error {
				if obj, err := rollout.Render(d, false, rollout.Options{}); err != nil || obj != d {
					return fmt.Errorf("not the same pointer: %w", err)
				}
				return nil
			})},
		},
		{
			Name: "Convert, checked",
			Ours: bench.Subject{Do: bench.Each(func() error {
				_, errs := rollout.Convert(d, rollout.Options{})
				return errs.ToAggregate()
			})},
		},
		{
			Name: "Deployment to the JSON of a Rollout, ours checked", Gates: []bench.Gate{{Unit: bench.Nanos, Peer: upstream, Limit: "<= 3x"}},
			Ours: bench.Subject{Do: bench.Each(func() error {
				r, errs := rollout.Convert(d, rollout.Options{})
				if len(errs) > 0 {
					return errs.ToAggregate()
				}
				_, err := json.Marshal(r)
				return err
			})},
			Peers: []bench.Subject{{Name: upstream, Do: bench.Each(func() error {
				_, err := json.Marshal(theirs(d))
				return err
			})}},
		},
		{
			Name: "validate", Gates: []bench.Gate{{Unit: bench.Nanos, Peer: upstream, Limit: "<= 2x"}},
			Ours: bench.Subject{Do: bench.Each(func() error { return rollout.Validate(ours).ToAggregate() })},
			Peers: []bench.Subject{{Name: upstream, Do: bench.Each(func() error {
				if errs := validation.ValidateRollout(peer); len(errs) > 0 {
					return errors.New("refused")
				}
				return nil
			})}},
		},
	}, nil
}
