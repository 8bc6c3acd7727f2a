// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// template checks what a Rollout adds to the rules for pods, and the mistakes
// of a pod template that are common. The API server knows the other rules.
func (p *problems) template(t *corev1.PodTemplateSpec) {
	path := at("template")
	rest := t.ObjectMeta
	rest.Labels = nil
	rest.Annotations = nil
	if !reflect.ValueOf(rest).IsZero() {
		p.add(field.Forbidden(path.Child("metadata"),
			"the CRD keeps only the labels and annotations of a pod template"))
	}
	p.podLabels(t.Labels, path.Child("metadata", "labels"))
	p.annotations(t.Annotations, path.Child("metadata", "annotations"))
	p.pod(&t.Spec, path.Child("spec"))
}

func (p *problems) pod(s *corev1.PodSpec, path *field.Path) {
	if s.RestartPolicy != "" && s.RestartPolicy != corev1.RestartPolicyAlways {
		accepted := []corev1.RestartPolicy{corev1.RestartPolicyAlways}
		p.add(field.NotSupported(path.Child("restartPolicy"), s.RestartPolicy, accepted))
	}
	if s.ActiveDeadlineSeconds != nil {
		p.add(field.Forbidden(path.Child("activeDeadlineSeconds"), "a Rollout's pods run without end"))
	}
	if len(s.Containers) == 0 {
		p.add(field.Required(path.Child("containers"), "list at least one container"))
	}
	p.containers(s.Containers, path.Child("containers"))
	p.containers(s.InitContainers, path.Child("initContainers"))
	once(p, path.Child("hostAliases"), s.HostAliases, func(a corev1.HostAlias) string { return a.IP })
	secret := func(r corev1.LocalObjectReference) string { return r.Name }
	once(p, path.Child("imagePullSecrets"), s.ImagePullSecrets, secret)
	p.spread(s.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))
	p.affinity(s.Affinity, path.Child("affinity"))
}

func (p *problems) containers(list []corev1.Container, path *field.Path) {
	for i := range list {
		c := &list[i]
		at := path.Index(i)
		if c.Image == "" {
			p.add(field.Required(at.Child("image"), "set an image"))
		}
		once(p, at.Child("env"), c.Env, func(v corev1.EnvVar) string { return v.Name })
		once(p, at.Child("ports"), c.Ports, port)
		for j, v := range c.Env {
			p.variable(v, at.Child("env").Index(j))
		}
	}
}

// variable checks where a value comes from: the controller refuses two sources,
// and a field of the pod that no variable can have.
func (p *problems) variable(v corev1.EnvVar, path *field.Path) {
	if v.ValueFrom == nil {
		return
	}
	from := path.Child("valueFrom")
	if v.Value != "" {
		p.add(field.Invalid(from, field.OmitValueType{}, "a variable has a value or a valueFrom; remove one"))
	}
	sources := 0
	of := reflect.ValueOf(*v.ValueFrom)
	for i := range of.NumField() {
		if !of.Field(i).IsNil() {
			sources++
		}
	}
	if sources != 1 {
		p.add(field.Invalid(from, field.OmitValueType{}, "must have exactly one source"))
	}
	ref := v.ValueFrom.FieldRef
	if ref != nil && !podField(ref.FieldPath) {
		accepted := append(podFields(), "metadata.labels['KEY']", "metadata.annotations['KEY']")
		p.add(field.NotSupported(from.Child("fieldRef", "fieldPath"), ref.FieldPath, accepted))
	}
}

// podFields are those that a variable can have, in addition to one label or one
// annotation.
func podFields() []string {
	return []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
}

func podField(path string) bool {
	one := strings.HasPrefix(path, "metadata.labels['") || strings.HasPrefix(path, "metadata.annotations['")
	return slices.Contains(podFields(), path) || one && strings.HasSuffix(path, "']")
}

// once refuses a key that comes twice. The CRD reads such a list as a map. A
// Deployment takes it.
func once[T any](p *problems, path *field.Path, list []T, key func(T) string) {
	seen := map[string]bool{}
	for i, item := range list {
		name := key(item)
		if seen[name] {
			e := field.Duplicate(path.Index(i), name)
			e.Detail = "must be in the list once"
			p.add(e)
		}
		seen[name] = true
	}
}

func port(c corev1.ContainerPort) string {
	protocol := cmp.Or(c.Protocol, corev1.ProtocolTCP)
	return fmt.Sprintf("%d/%s", c.ContainerPort, protocol)
}

func (p *problems) spread(constraints []corev1.TopologySpreadConstraint, path *field.Path) {
	for i, c := range constraints {
		p.hashKey(c.MatchLabelKeys, path.Index(i).Child("matchLabelKeys"))
	}
}

// affinity checks the rules that place a pod by other pods.
func (p *problems) affinity(a *corev1.Affinity, path *field.Path) {
	if a == nil {
		return
	}
	near := ptr.Deref(a.PodAffinity, corev1.PodAffinity{})
	apart := ptr.Deref(a.PodAntiAffinity, corev1.PodAntiAffinity{})
	p.podAffinity(near, path.Child("podAffinity"))
	p.podAffinity(corev1.PodAffinity(apart), path.Child("podAntiAffinity"))
}

func (p *problems) podAffinity(rules corev1.PodAffinity, path *field.Path) {
	term := func(t *corev1.PodAffinityTerm, path *field.Path) {
		p.hashKey(t.MatchLabelKeys, path.Child("matchLabelKeys"))
		p.hashKey(t.MismatchLabelKeys, path.Child("mismatchLabelKeys"))
	}
	required := rules.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range required {
		term(&required[i], path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))
	}
	preferred := rules.PreferredDuringSchedulingIgnoredDuringExecution
	for i := range preferred {
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		term(&preferred[i].PodAffinityTerm, at.Child("podAffinityTerm"))
	}
}

// hashKey warns of the label pod-template-hash in a scheduling rule. The pods
// of a Rollout have rollouts-pod-template-hash.
func (p *problems) hashKey(keys []string, path *field.Path) {
	i := slices.Index(keys, "pod-template-hash")
	if i >= 0 {
		p.warn(field.Invalid(path.Index(i), keys[i],
			"pods of a Rollout have rollouts-pod-template-hash instead; take that key, or leave it out"))
	}
}
