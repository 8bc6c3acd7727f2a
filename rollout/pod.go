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
	for _, c := range containers(s) {
		if c.of.Image == "" {
			p.add(field.Required(c.path.Child("image"), "set an image"))
		}
		once(p, c.path.Child("env"), c.of.Env, func(v corev1.EnvVar) string { return v.Name })
		once(p, c.path.Child("ports"), c.of.Ports, port)
		for i, v := range c.of.Env {
			p.variable(v, c.path.Child("env").Index(i))
		}
	}
	once(p, path.Child("hostAliases"), s.HostAliases, func(a corev1.HostAlias) string { return a.IP })
	secret := func(r corev1.LocalObjectReference) string { return r.Name }
	once(p, path.Child("imagePullSecrets"), s.ImagePullSecrets, secret)
	p.hashKeys(s)
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

// placed is a part of a pod template with its path.
type placed[T any] struct {
	path *field.Path
	of   *T
}

func place[T any](path *field.Path, list []T) []placed[T] {
	all := make([]placed[T], len(list))
	for i := range list {
		all[i] = placed[T]{path.Index(i), &list[i]}
	}
	return all
}

func containers(s *corev1.PodSpec) []placed[corev1.Container] {
	path := at("template", "spec")
	all := place(path.Child("containers"), s.Containers)
	return append(all, place(path.Child("initContainers"), s.InitContainers)...)
}

// hashKeys warns of the label pod-template-hash in scheduling rules. The pods
// of a Rollout have rollouts-pod-template-hash.
func (p *problems) hashKeys(s *corev1.PodSpec) {
	check := func(path *field.Path, keys []string) {
		i := slices.Index(keys, "pod-template-hash")
		if i >= 0 {
			p.warn(field.Invalid(path.Index(i), keys[i],
				"pods of a Rollout have rollouts-pod-template-hash instead; take that key, or leave it out"))
		}
	}
	path := at("template", "spec", "topologySpreadConstraints")
	for i, c := range s.TopologySpreadConstraints {
		check(path.Index(i).Child("matchLabelKeys"), c.MatchLabelKeys)
	}
	for _, term := range podTerms(s.Affinity) {
		check(term.path.Child("matchLabelKeys"), term.of.MatchLabelKeys)
		check(term.path.Child("mismatchLabelKeys"), term.of.MismatchLabelKeys)
	}
}

// podTerms are the rules that place a pod by other pods.
func podTerms(a *corev1.Affinity) []placed[corev1.PodAffinityTerm] {
	if a == nil {
		return nil
	}
	near := ptr.Deref(a.PodAffinity, corev1.PodAffinity{})
	apart := corev1.PodAffinity(ptr.Deref(a.PodAntiAffinity, corev1.PodAntiAffinity{}))
	var all []placed[corev1.PodAffinityTerm]
	for i, rules := range []corev1.PodAffinity{near, apart} {
		path := at("template", "spec", "affinity", []string{"podAffinity", "podAntiAffinity"}[i])
		required := path.Child("requiredDuringSchedulingIgnoredDuringExecution")
		all = append(all, place(required, rules.RequiredDuringSchedulingIgnoredDuringExecution)...)
		preferred := path.Child("preferredDuringSchedulingIgnoredDuringExecution")
		for _, w := range place(preferred, rules.PreferredDuringSchedulingIgnoredDuringExecution) {
			term := placed[corev1.PodAffinityTerm]{w.path.Child("podAffinityTerm"), &w.of.PodAffinityTerm}
			all = append(all, term)
		}
	}
	return all
}
