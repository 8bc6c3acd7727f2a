// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// sameTemplate refuses another image and a container more or less, and warns of any other change, by path and never by value:
// the environment may hold secrets.
func (b *builder) sameTemplate(live, to *corev1.PodTemplateSpec) {
	if to == nil {
		return // refused by rollout.Validate
	}
	b.sameContainers(field.NewPath("spec", "template", "spec", "initContainers"), live.Spec.InitContainers, to.Spec.InitContainers)
	b.sameContainers(field.NewPath("spec", "template", "spec", "containers"), live.Spec.Containers, to.Spec.Containers)
	paths, err := differences(live, to)
	if err != nil {
		b.add(field.InternalError(field.NewPath("spec", "template"), err))
	}
	if len(paths) > 0 {
		b.warn("The pod template differs from the live one beyond what a server fills in. The first revision of a Rollout goes through no steps: what differs reaches all pods at once. It differs at " +
			firstOf(paths, 10) + ".")
	}
}

func (b *builder) sameContainers(path *field.Path, live, to []corev1.Container) {
	const skipped = "the first revision of a Rollout goes through no steps, so it would reach all users at once; switch first, change later"
	named := func(list []corev1.Container, name string) int {
		return slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
	}
	for i := range to {
		c := &to[i]
		switch j := named(live, c.Name); {
		case j < 0:
			b.add(field.Invalid(path.Index(i).Child("name"), c.Name, "the live Deployment has no such container: "+skipped))
		case live[j].Image != c.Image:
			b.add(field.Invalid(path.Index(i).Child("image"), c.Image, "the live Deployment runs "+live[j].Image+": "+skipped))
		}
	}
	for i := range live {
		if name := live[i].Name; named(to, name) < 0 {
			b.add(field.Required(path.Key(name), "the live Deployment has this container, and it would be gone from all pods at once: "+skipped))
		}
	}
}

func firstOf(texts []string, most int) string {
	if len(texts) <= most {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), len(texts)-most)
}
