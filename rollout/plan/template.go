// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// change is how a difference between two templates reaches the pods.
type change struct{ from, why, warning string }

const (
	migrated   = "Deployment"
	rolledBack = "Rollout"
)

func changes(from string) change {
	if from == rolledBack {
		return change{from, "the plan would replace it in all pods; set Options.AllowTemplateChange if that is meant", "The plan replaces all pods by the Deployment's."}
	}
	return change{
		from, "the first revision of a Rollout goes through no steps, so all users would get it immediately; switch first, change later",
		"The first revision of a Rollout goes through no steps: what differs reaches all pods immediately.",
	}
}

// sameTemplate refuses another image and a container more or less. It warns of
// any other difference by its path, never by its value: the environment may
// hold secrets.
func (b *builder) sameTemplate(from string, live, to *corev1.PodTemplateSpec) {
	if to == nil {
		return // refused by rollout.Validate
	}
	c := changes(from)
	if from != rolledBack || !b.AllowTemplateChange {
		b.sameContainers(c, field.NewPath("spec", "template", "spec", "initContainers"), live.Spec.InitContainers, to.Spec.InitContainers)
		b.sameContainers(c, field.NewPath("spec", "template", "spec", "containers"), live.Spec.Containers, to.Spec.Containers)
	}
	paths, err := differences(live, to)
	if err != nil {
		b.add(field.InternalError(field.NewPath("spec", "template"), err))
	}
	if len(paths) > 0 {
		b.warn("The pod template differs from the live one beyond what a server fills in. " + c.warning + " It differs at " + firstOf(paths, 10) + ".")
	}
}

func (b *builder) sameContainers(c change, path *field.Path, live, to []corev1.Container) {
	named := func(list []corev1.Container, name string) int {
		return slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
	}
	for i := range to {
		switch j := named(live, to[i].Name); {
		case j < 0:
			b.add(field.Invalid(path.Index(i).Child("name"), to[i].Name, "the live "+c.from+" has no such container: "+c.why))
		case live[j].Image != to[i].Image:
			b.add(field.Invalid(path.Index(i).Child("image"), to[i].Image, "the live "+c.from+" runs "+live[j].Image+": "+c.why))
		}
	}
	for i := range live {
		if name := live[i].Name; named(to, name) < 0 {
			b.add(field.Required(path.Key(name), "the live "+c.from+" has this container, and all pods would lose it: "+c.why))
		}
	}
}

// warnPods names what pods of both workloads share while both run.
func (b *builder) warnPods(s *corev1.PodSpec) {
	for _, text := range exclusive(s) {
		b.warn(text)
	}
	if hash := hashKeys(s); len(hash) > 0 {
		b.warn("matchLabelKeys has pod-template-hash at " + strings.Join(hash, ", ") + ": pods of a Rollout have rollouts-pod-template-hash instead, so it does not distinguish the versions.")
	}
}

// exclusive has a sentence for each field that two pods at the same time may
// not be able to share.
func exclusive(s *corev1.PodSpec) (texts []string) {
	for i := range s.Volumes {
		if c := s.Volumes[i].PersistentVolumeClaim; c != nil {
			texts = append(texts, "The pods use the PersistentVolumeClaim "+c.ClaimName+": pods of both workloads mount it while the plan runs, and both versions during a canary. Of the access mode ReadWriteOnce that works on one node only.")
		}
	}
	if s.HostNetwork {
		texts = append(texts, "The pods have hostNetwork: a new pod needs a node whose ports are free, and the plan waits until there is one.")
	}
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		for _, p := range c.Ports {
			if p.HostPort != 0 && !s.HostNetwork {
				texts = append(texts, fmt.Sprintf("Container %s has hostPort %d: a new pod needs a node on which it is free, and the plan waits until there is one.", c.Name, p.HostPort))
			}
		}
	}
	return texts
}

// noneExclusive refuses a plan for a Deployment whose maxSurge of 0 says that
// its pods cannot share what they use: every method runs two of them.
func (b *builder) noneExclusive(surge *intstr.IntOrString, s *corev1.PodSpec, path *field.Path) {
	if surge == nil {
		return
	}
	texts := exclusive(s)
	if n, ok := resolve(surge, 100, math.Ceil); ok && n == 0 && len(texts) > 0 {
		b.add(field.Invalid(path, surge.String(), "every plan runs a pod more for a while. "+strings.Join(texts, " ")+
			" If two pods can work, set 1. Otherwise delete the old workload, wait until its pods are gone, and apply the new one: that is a moment without pods"))
	}
}

// hashKeys are the places that use the hash label of Deployments.
func hashKeys(s *corev1.PodSpec) (places []string) {
	add := func(path *field.Path, keys []string) {
		if slices.Contains(keys, "pod-template-hash") {
			places = append(places, path.String())
		}
	}
	spec := field.NewPath("spec", "template", "spec")
	for i := range s.TopologySpreadConstraints {
		add(spec.Child("topologySpreadConstraints").Index(i), s.TopologySpreadConstraints[i].MatchLabelKeys)
	}
	terms := func(path *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			add(path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i), slices.Concat(required[i].MatchLabelKeys, required[i].MismatchLabelKeys))
		}
		for i := range preferred {
			term := preferred[i].PodAffinityTerm
			add(path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i), slices.Concat(term.MatchLabelKeys, term.MismatchLabelKeys))
		}
	}
	if s.Affinity != nil && s.Affinity.PodAffinity != nil {
		terms(spec.Child("affinity", "podAffinity"), s.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, s.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if s.Affinity != nil && s.Affinity.PodAntiAffinity != nil {
		terms(spec.Child("affinity", "podAntiAffinity"), s.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, s.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return places
}

func firstOf(texts []string, most int) string {
	if len(texts) <= most {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), len(texts)-most)
}
