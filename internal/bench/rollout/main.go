// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rollout measures package rollout. It has no peer: Argo Rollouts
// converts nothing, and its types need an old client-go.
package main

import (
	"encoding/json"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/rollout"
)

func main() {
	bench.Main(bench.Group{Package: "rollout", Measures: measures})
}

// usual is the limit of a usual call, 50 µs.
const usual = "<= 50000"

// measures are what a program does with one Deployment on every reconcile.
func measures(*testing.T) ([]bench.Measure, error) {
	d := deployment()
	return []bench.Measure{
		{
			Name: "Render, off",
			Ours: bench.Subject{Do: bench.Each(func() error {
				same, err := rollout.Render(d, false, rollout.Options{})
				if err == nil && same != d {
					err = errors.New("not the same pointer")
				}
				return err
			})},
			Gates: []bench.Gate{{Unit: bench.Nanos, Limit: usual}, {Unit: bench.Allocs, Limit: "= 0"}},
		},
		{
			Name: "Deployment to the JSON of a Rollout, checked",
			Ours: bench.Subject{Do: bench.Each(func() error {
				r, errs := rollout.Convert(d, rollout.Options{})
				if len(errs) > 0 {
					return errs.ToAggregate()
				}
				_, err := json.Marshal(r)
				return err
			})},
			Gates: []bench.Gate{{Unit: bench.Nanos, Limit: usual}},
		},
	}, nil
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "agents"}
	container := corev1.Container{
		Name: "agents", Image: "registry.example.com/agents:1.2.3",
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		Env:   []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu"}},
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "agents", Namespace: "shop", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(5)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: "agents", Containers: []corev1.Container{container},
				},
			},
		},
	}
}
