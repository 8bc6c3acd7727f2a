// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// template checks what a Rollout adds to the rules for pods, and the mistakes
// of a pod template that are common. The API server knows the other rules:
// package live asks it.
func (p *problems) template(t *corev1.PodTemplateSpec) {
	path, meta := at("template"), t.ObjectMeta
	meta.Labels, meta.Annotations = nil, nil
	if !reflect.ValueOf(meta).IsZero() {
		p.add(field.Forbidden(path.Child("metadata"), onlyLabels))
	}
	p.labels(t.Labels, "spec", "template", "metadata", "labels")
	p.noOwnLabels(t.Labels, "template", "metadata", "labels")
	p.annotations(t.Annotations, "spec", "template", "metadata", "annotations")
	s, path := &t.Spec, path.Child("spec")
	if s.RestartPolicy != "" && s.RestartPolicy != corev1.RestartPolicyAlways {
		p.add(field.NotSupported(path.Child("restartPolicy"), s.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if s.ActiveDeadlineSeconds != nil {
		p.add(field.Forbidden(path.Child("activeDeadlineSeconds"), "a Rollout's pods run without end"))
	}
	if len(s.Containers) == 0 {
		p.add(field.Required(path.Child("containers"), "list at least one container"))
	}
	eachContainer(s, func(list string, i int, c *corev1.Container) {
		if c.Image == "" {
			p.add(field.Required(path.Child(list).Index(i).Child("image"), "set an image"))
		}
	})
}

func eachContainer(s *corev1.PodSpec, f func(list string, i int, c *corev1.Container)) {
	for i := range s.Containers {
		f("containers", i, &s.Containers[i])
	}
	for i := range s.InitContainers {
		f("initContainers", i, &s.InitContainers[i])
	}
}
