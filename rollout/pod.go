// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// template checks a pod template as far as mistakes are common: for a Deployment the server refuses them all at once, a CRD
// does not look.
func (p *problems) template(t *corev1.PodTemplateSpec) {
	m := &t.ObjectMeta
	for _, dropped := range [...]struct {
		name string
		set  bool
	}{
		{"name", m.Name != ""},
		{"generateName", m.GenerateName != ""},
		{"namespace", m.Namespace != ""},
		{"uid", m.UID != ""},
		{"resourceVersion", m.ResourceVersion != ""},
		{"creationTimestamp", !m.CreationTimestamp.IsZero()},
		{"deletionTimestamp", m.DeletionTimestamp != nil},
		{"ownerReferences", len(m.OwnerReferences) > 0},
		{"finalizers", len(m.Finalizers) > 0},
		{"managedFields", len(m.ManagedFields) > 0},
	} {
		if dropped.set {
			p.add(field.Forbidden(at("template", "metadata", dropped.name), onlyLabels))
		}
	}
	p.labels(m.Labels, "spec", "template", "metadata", "labels")
	p.noOwnLabels(m.Labels, "template", "metadata", "labels")
	p.annotations(m.Annotations, "spec", "template", "metadata", "annotations")
	p.pod(&t.Spec, at("template", "spec"))
}

func (p *problems) pod(s *corev1.PodSpec, path *field.Path) {
	if s.RestartPolicy != "" && s.RestartPolicy != corev1.RestartPolicyAlways {
		p.add(field.NotSupported(path.Child("restartPolicy"), s.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if s.ActiveDeadlineSeconds != nil {
		p.add(field.Forbidden(path.Child("activeDeadlineSeconds"), "a Rollout's pods run without end"))
	}
	if len(s.EphemeralContainers) > 0 {
		p.add(field.Forbidden(path.Child("ephemeralContainers"), "they belong to running pods"))
	}
	for _, msg := range optional(s.ServiceAccountName, dnsName) {
		p.add(field.Invalid(path.Child("serviceAccountName"), s.ServiceAccountName, msg))
	}
	volumes := make([]string, 0, len(s.Volumes))
	for i := range s.Volumes {
		name := s.Volumes[i].Name
		for _, msg := range dnsLabel(name) {
			p.add(field.Invalid(path.Child("volumes").Index(i).Child("name"), name, msg))
		}
		if slices.Contains(volumes, name) {
			p.add(field.Duplicate(path.Child("volumes").Index(i).Child("name"), name))
		}
		volumes = append(volumes, name)
	}
	if len(s.Containers) == 0 {
		p.add(field.Required(path.Child("containers"), "a pod has at least one"))
	}
	names := make([]string, 0, len(s.Containers)+len(s.InitContainers))
	names = p.containers(s.Containers, names, volumes, path, "containers")
	p.containers(s.InitContainers, names, volumes, path, "initContainers")
}

func (p *problems) containers(list []corev1.Container, names, volumes []string, path *field.Path, kind string) []string {
	for i := range list {
		c, path := &list[i], path.Child(kind).Index(i)
		for _, msg := range dnsLabel(c.Name) {
			p.add(field.Invalid(path.Child("name"), c.Name, msg))
		}
		if slices.Contains(names, c.Name) {
			p.add(field.Duplicate(path.Child("name"), c.Name))
		}
		names = append(names, c.Name)
		if c.Image == "" {
			p.add(field.Required(path.Child("image"), "a container runs one"))
		}
		p.ports(c.Ports, path)
		for j := range c.Env {
			for _, msg := range variableName(c.Env[j].Name) {
				p.add(field.Invalid(path.Child("env").Index(j).Child("name"), c.Env[j].Name, msg))
			}
			if c.Env[j].Value != "" && c.Env[j].ValueFrom != nil {
				p.add(field.Forbidden(path.Child("env").Index(j).Child("valueFrom"), "a variable has either a value or valueFrom"))
			}
		}
		p.mounts(c.VolumeMounts, volumes, path)
		p.resources(&c.Resources, path)
	}
	return names
}

func (p *problems) ports(ports []corev1.ContainerPort, path *field.Path) {
	var names []string
	for i := range ports {
		port, at := &ports[i], func(name string) *field.Path { return path.Child("ports").Index(i).Child(name) }
		for _, msg := range optional(port.Name, validation.IsValidPortName) {
			p.add(field.Invalid(at("name"), port.Name, msg))
		}
		if port.Name != "" && slices.Contains(names, port.Name) {
			p.add(field.Duplicate(at("name"), port.Name))
		}
		names = append(names, port.Name)
		for _, msg := range validation.IsValidPortNum(int(port.ContainerPort)) {
			p.add(field.Invalid(at("containerPort"), port.ContainerPort, msg))
		}
		if port.HostPort != 0 {
			for _, msg := range validation.IsValidPortNum(int(port.HostPort)) {
				p.add(field.Invalid(at("hostPort"), port.HostPort, msg))
			}
		}
		protocols := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
		if port.Protocol != "" && !slices.Contains(protocols, port.Protocol) {
			p.add(field.NotSupported(at("protocol"), port.Protocol, protocols))
		}
	}
}

func (p *problems) mounts(mounts []corev1.VolumeMount, volumes []string, path *field.Path) {
	var paths []string
	for i := range mounts {
		m, at := &mounts[i], func(name string) *field.Path { return path.Child("volumeMounts").Index(i).Child(name) }
		if !slices.Contains(volumes, m.Name) {
			p.add(field.NotFound(at("name"), m.Name))
		}
		if m.MountPath == "" {
			p.add(field.Required(at("mountPath"), "where the volume is seen"))
		}
		if slices.Contains(paths, m.MountPath) {
			p.add(field.Duplicate(at("mountPath"), m.MountPath))
		}
		paths = append(paths, m.MountPath)
	}
}

func (p *problems) resources(r *corev1.ResourceRequirements, path *field.Path) {
	for _, list := range [...]struct {
		name string
		of   corev1.ResourceList
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for _, name := range wrong(list.of, func(name corev1.ResourceName, q resource.Quantity) bool {
			limit, limited := r.Limits[name]
			return q.Sign() >= 0 && (!limited || q.Cmp(limit) <= 0)
		}) {
			q := list.of[name]
			p.add(field.Invalid(path.Child("resources", list.name).Key(string(name)), q.String(), "must not be negative, nor more than the limit"))
		}
	}
}
