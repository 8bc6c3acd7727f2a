// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// sameWorkload refuses a new workload that would not select the old pods.
func (p *planner) sameWorkload() {
	if p.old.meta.DeletionTimestamp != nil {
		p.add(field.Forbidden(field.NewPath("live", "metadata", "deletionTimestamp"),
			"the "+p.old.gvk.Kind+" is being deleted"))
	}
	if p.new.meta.Namespace != p.old.meta.Namespace {
		p.add(field.Invalid(field.NewPath("metadata", "namespace"), p.new.meta.Namespace,
			"must be the "+p.old.gvk.Kind+"'s, "+p.old.meta.Namespace))
	}
	if !equality.Semantic.DeepEqual(p.old.selector, p.new.selector) {
		is := metav1.FormatLabelSelector(p.new.selector)
		must := "must be the " + p.old.gvk.Kind + "'s, " + metav1.FormatLabelSelector(p.old.selector)
		p.add(field.Invalid(field.NewPath("spec", "selector"), is, must))
	}
}

// sameContainers refuses another image and a container more or less.
func (p *planner) sameContainers(why string) {
	if p.new.template == nil {
		return // rollout.Validate refuses it
	}
	path := field.NewPath("spec", "template", "spec")
	was := &p.old.template.Spec
	is := &p.new.template.Spec
	p.sameList(path.Child("initContainers"), was.InitContainers, is.InitContainers, why)
	p.sameList(path.Child("containers"), was.Containers, is.Containers, why)
}

func (p *planner) sameList(path *field.Path, was, is []corev1.Container, why string) {
	runs := "the live " + p.old.gvk.Kind + " "
	for i := range is {
		j := named(was, is[i].Name)
		switch {
		case j < 0:
			p.add(field.Invalid(path.Index(i).Child("name"), is[i].Name, runs+"has no such "+
				"container: "+why))
		case was[j].Image != is[i].Image:
			detail := runs + "runs " + was[j].Image + ": " + why
			p.add(field.Invalid(path.Index(i).Child("image"), is[i].Image, detail))
		}
	}
	for i := range was {
		if named(is, was[i].Name) < 0 {
			p.add(field.Required(path.Key(was[i].Name), runs+"has this container, and all pods "+
				"would lose it: "+why))
		}
	}
}

func named(list []corev1.Container, name string) int {
	return slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
}

// unshared names what two pods at the same time may not be able to share.
func unshared(s *corev1.PodSpec) (names []string) {
	for i := range s.Volumes {
		claim := s.Volumes[i].PersistentVolumeClaim
		if claim != nil {
			names = append(names, "the PersistentVolumeClaim "+claim.ClaimName)
		}
	}
	if s.HostNetwork {
		return append(names, "hostNetwork")
	}
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				names = append(names, fmt.Sprintf("hostPort %d of "+
					"container %s", port.HostPort, c.Name))
			}
		}
	}
	return names
}

// twoPods refuses a Deployment whose maxSurge of 0 says that its pods cannot
// share what they use. A plan runs twice the pods.
func (p *planner) twoPods(d *appsv1.Deployment, path *field.Path) {
	u := d.Spec.Strategy.RollingUpdate
	names := unshared(&d.Spec.Template.Spec)
	if u == nil || u.MaxSurge == nil || len(names) == 0 {
		return
	}
	pods, err := intstr.GetScaledValueFromIntOrPercent(u.MaxSurge, 100, true)
	if err != nil || pods > 0 {
		return
	}
	p.add(field.Invalid(path, u.MaxSurge.String(), "a plan runs twice the pods for a while, "+
		"and these use "+
		strings.Join(names, ", ")+". If two pods can work, set 1. Otherwise delete the "+
		"old workload, "+
		"wait until its pods are gone, and apply the new one: that is a moment without pods"))
}

// warnPods names what keeps pods of both workloads from running together.
func (p *planner) warnPods() {
	spec := &p.old.template.Spec
	names := unshared(spec)
	if len(names) > 0 {
		p.warn("The pods use %s. Pods of both workloads do while the plan runs, and both "+
			"versions during a canary. "+
			"A claim of the access mode ReadWriteOnce works on one node only, and a port "+
			"once a node.", strings.Join(names, ", "))
	}
	if spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil {
		p.warnApart(spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
}

// warnApart: with as many nodes as pods, no pod more can start.
func (p *planner) warnApart(terms []corev1.PodAffinityTerm) {
	for i := range terms {
		selector, err := metav1.LabelSelectorAsSelector(terms[i].LabelSelector)
		if err != nil || !selector.Matches(labels.Set(p.old.template.Labels)) {
			continue
		}
		p.warn("Required anti-affinity keeps the pods apart by %s: the plan needs %d of those, "+
			"and each canary one more "+
			"than there are pods. With fewer, new pods stay Pending and the plan stops at "+
			"its deadline.",
			terms[i].TopologyKey, 2*p.old.replicas)
	}
}
