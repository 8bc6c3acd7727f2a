// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// compared is where a plan sees differences between the templates of running
// and converted, as change leaves them.
func compared(t *testing.T, change func(live, to *corev1.PodTemplateSpec)) []string {
	t.Helper()
	d, r := running(), converted(t)
	change(&d.Spec.Template, r.Spec.Template)
	p, errs := plan.Migration(d, r, nil, plan.Options{Method: plan.SideBySide})
	require.Empty(t, errs)
	return differs(t, p)
}

// differs are the places that the plan's warning about the templates names.
func differs(t *testing.T, p plan.Plan) []string {
	t.Helper()
	for _, w := range p.Warnings {
		if _, list, found := strings.Cut(w, "It differs at "); found {
			require.Contains(t, w, "reaches all pods immediately")
			return strings.Split(strings.TrimSuffix(list, "."), ", ")
		}
	}
	return nil
}

// What only one of the two has is seen from both sides.
//
//req:shows R5
func TestTemplate_NamesDroppedAndAddedFields(t *testing.T) {
	first := func(change func(c *corev1.Container)) func(t *corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) { change(&t.Spec.Containers[0]) }
	}
	const web = "spec.template.spec.containers[web]."
	cases := map[string]struct {
		reason string
		change func(t *corev1.PodTemplateSpec)
		want   string
	}{
		"Env":       {"A setting.", first(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "A", Value: "s3cret"}} }), web + "env"},
		"Args":      {"Flags.", first(func(c *corev1.Container) { c.Args = []string{"--x"} }), web + "args"},
		"Resources": {"Room.", first(func(c *corev1.Container) { c.Resources.Limits = limits("1") }), web + "resources.limits"},
		"Probe": {"When traffic comes.", first(func(c *corev1.Container) {
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(1)}}}
		}), web + "readinessProbe"},
		"NodeSelector": {"Where.", func(t *corev1.PodTemplateSpec) { t.Spec.NodeSelector = map[string]string{"a": "b"} }, "spec.template.spec.nodeSelector"},
		"Account":      {"Its rights.", func(t *corev1.PodTemplateSpec) { t.Spec.ServiceAccountName = "x" }, "spec.template.spec.serviceAccountName"},
		"OldAccount":   {"The same field by its old name.", func(t *corev1.PodTemplateSpec) { t.Spec.DeprecatedServiceAccount = "x" }, "spec.template.spec.serviceAccountName"},
		"Volumes":      {"Its files.", func(t *corev1.PodTemplateSpec) { t.Spec.Volumes = []corev1.Volume{{Name: "v"}} }, "spec.template.spec.volumes"},
		"Grace":        {"Not the 30 of a server.", func(t *corev1.PodTemplateSpec) { t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](90) }, "spec.template.spec.terminationGracePeriodSeconds"},
		"HostNetwork":  {"Its ports.", func(t *corev1.PodTemplateSpec) { t.Spec.HostNetwork = true }, "spec.template.spec.hostNetwork"},
		"NonRoot": {"Its user.", func(t *corev1.PodTemplateSpec) {
			t.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}
		}, "spec.template.spec.securityContext"},
		"Label": {"Services select by it.", func(t *corev1.PodTemplateSpec) {
			t.Labels = map[string]string{"app": "web", "example.com/tier": "x"}
		}, "spec.template.metadata.labels[example.com/tier]"},
		"Restarted": {"By kubectl rollout restart.", func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-02T03:04:05Z"}
		}, "spec.template.metadata.annotations"},
		"HostPort": {"Only on the host's network is it the port.", first(func(c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}), web + "ports"},
		"PullPolicy": {"web:1 has a tag.", first(func(c *corev1.Container) { c.ImagePullPolicy = corev1.PullNever }), web + "imagePullPolicy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bare := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].ImagePullPolicy = "" }
			assert.Equal(t, []string{tc.want + " (dropped)"}, compared(t, func(live, to *corev1.PodTemplateSpec) { bare(live); tc.change(live) }), tc.reason)
			assert.Equal(t, []string{tc.want + " (added)"}, compared(t, func(live, to *corev1.PodTemplateSpec) { bare(live); tc.change(to) }), tc.reason)
			assert.Empty(t, compared(t, func(live, to *corev1.PodTemplateSpec) { tc.change(live); tc.change(to) }), tc.reason)
		})
	}
}

func TestTemplate_NamesChangedFields(t *testing.T) {
	env := func(names ...string) (out []corev1.EnvVar) {
		for _, n := range names {
			out = append(out, corev1.EnvVar{Name: n[:1], Value: n[1:]})
		}
		return out
	}
	ports := func(protocols ...corev1.Protocol) (out []corev1.ContainerPort) {
		for _, p := range protocols {
			out = append(out, corev1.ContainerPort{ContainerPort: 53, Protocol: p})
		}
		return out
	}
	const web = "spec.template.spec.containers[web]."
	cases := map[string]struct {
		reason string
		change func(live, to *corev1.Container)
		want   []string
	}{
		"Value":      {"The warning has the name, not the value.", func(l, r *corev1.Container) { l.Env, r.Env = env("As3cret", "B"), env("Aother", "B") }, []string{web + "env[A].value"}},
		"OneDropped": {"The others stay.", func(l, r *corev1.Container) { l.Env, r.Env = env("A", "B", "C"), env("A", "C") }, []string{web + "env[B] (dropped)"}},
		"OneAdded":   {"The others stay.", func(l, r *corev1.Container) { l.Env, r.Env = env("A", "C"), env("B", "A", "C") }, []string{web + "env[B] (added)"}},
		"EnvMoved":   {"It may refer to one before.", func(l, r *corev1.Container) { l.Env, r.Env = env("A", "B"), env("B", "A") }, []string{web + "env (in another order)"}},
		"ArgDropped": {"By position.", func(l, r *corev1.Container) { l.Args, r.Args = []string{"a", "b"}, []string{"a"} }, []string{web + "args[1] (dropped)"}},
		"ArgAdded":   {"By position.", func(l, r *corev1.Container) { l.Args, r.Args = []string{"a"}, []string{"a", "b"} }, []string{web + "args[1] (added)"}},
		"Arg":        {"By position.", func(l, r *corev1.Container) { l.Args, r.Args = []string{"a"}, []string{"b"} }, []string{web + "args[0]"}},
		"PortMoved":  {"No order.", func(l, r *corev1.Container) { l.Ports, r.Ports = ports("TCP", "UDP"), ports("UDP", "") }, nil},
		"Port":       {"By number and protocol.", func(l, r *corev1.Container) { l.Ports, r.Ports = ports("TCP"), ports("UDP") }, []string{web + "ports[53] (dropped)", web + "ports[53/UDP] (added)"}},
		"Source": {"A list without keys.", func(l, r *corev1.Container) {
			l.EnvFrom, r.EnvFrom = []corev1.EnvFromSource{{Prefix: "A"}}, []corev1.EnvFromSource{{Prefix: "B"}}
		}, []string{web + "envFrom[0].prefix"}},
		"Amount":      {"More room.", func(l, r *corev1.Container) { l.Resources.Limits, r.Resources.Limits = limits("1"), limits("1500m") }, []string{web + "resources.limits.cpu"}},
		"SameAmount":  {"As a server writes it.", func(l, r *corev1.Container) { l.Resources.Limits, r.Resources.Limits = limits("1"), limits("1000m") }, nil},
		"RoundAmount": {"As a server rounds it.", func(l, r *corev1.Container) { l.Resources.Limits, r.Resources.Limits = limits("1m"), limits("0.0001") }, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := compared(t, func(live, to *corev1.PodTemplateSpec) { tc.change(&live.Spec.Containers[0], &to.Spec.Containers[0]) })
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
	dropped := compared(t, func(live, to *corev1.PodTemplateSpec) {
		l, r := &live.Spec.Containers[0], &to.Spec.Containers[0]
		l.VolumeMounts, r.VolumeMounts = []corev1.VolumeMount{{Name: "b", MountPath: "/a"}, {Name: "b", MountPath: "/b"}}, []corev1.VolumeMount{{Name: "b", MountPath: "/b"}}
		l.VolumeDevices, r.VolumeDevices = []corev1.VolumeDevice{{Name: "b", DevicePath: "/a"}, {Name: "b", DevicePath: "/b"}}, []corev1.VolumeDevice{{Name: "b", DevicePath: "/b"}}
		l.Resources.Claims, r.Resources.Claims = []corev1.ResourceClaim{{Name: "a"}, {Name: "b"}}, []corev1.ResourceClaim{{Name: "b"}}
		live.Spec.HostAliases, to.Spec.HostAliases = []corev1.HostAlias{{IP: "::1"}, {IP: "::2"}}, []corev1.HostAlias{{IP: "::2"}}
		live.Spec.Volumes, to.Spec.Volumes = []corev1.Volume{{Name: "a"}, {Name: "b"}}, []corev1.Volume{{Name: "b"}}
		live.Spec.ImagePullSecrets, to.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}}, []corev1.LocalObjectReference{{Name: "b"}}
		live.Spec.ResourceClaims, to.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "a"}, {Name: "b"}}, []corev1.PodResourceClaim{{Name: "b"}}
	})
	assert.Equal(t, []string{
		web + "resources.claims[a] (dropped)", web + "volumeDevices[/a] (dropped)", web + "volumeMounts[/a] (dropped)",
		"spec.template.spec.hostAliases[::1] (dropped)", "spec.template.spec.imagePullSecrets[a] (dropped)",
		"spec.template.spec.resourceClaims[a] (dropped)", "spec.template.spec.volumes[a] (dropped)",
	}, dropped, "by key, so that the others are not named")
	moved := compared(t, func(live, to *corev1.PodTemplateSpec) {
		one, two := corev1.Container{Name: "a", Image: "i:1"}, corev1.Container{Name: "b", Image: "i:1"}
		live.Spec.InitContainers, to.Spec.InitContainers = []corev1.Container{one, two}, []corev1.Container{two, one}
		three, four := corev1.Container{Name: "c", Image: "i:1"}, corev1.Container{Name: "d", Image: "i:1"}
		live.Spec.Containers, to.Spec.Containers = []corev1.Container{three, four}, []corev1.Container{four, three}
	})
	assert.Equal(t, []string{"spec.template.spec.containers (in another order)", "spec.template.spec.initContainers (in another order)"}, moved)
}

// The pull policy that a server fills in goes by the tag; ports of the host's
// network were filled in until v1.28.
func TestTemplate_KnowsWhatAServerFillsIn(t *testing.T) {
	for image, policy := range map[string]corev1.PullPolicy{
		"web": "Always", "web:latest": "Always", "web:1": "IfNotPresent", "host:5000/web": "Always", "host:5000/web:1": "IfNotPresent",
		"web@sha256:a": "IfNotPresent", "web:latest@sha256:a": "Always", "host:5000/web:1@sha256:a": "IfNotPresent",
	} {
		for _, other := range []corev1.PullPolicy{"Always", "IfNotPresent"} {
			got := compared(t, func(live, to *corev1.PodTemplateSpec) {
				live.Spec.Containers[0].Image, to.Spec.Containers[0].Image = image, image
				live.Spec.Containers[0].ImagePullPolicy = other
				live.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image, PullPolicy: policy}}}}
				to.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image}}}}
			})
			assert.Equal(t, other != policy, len(got) > 0, "%s %s: %s", image, other, got)
		}
	}
	for _, same := range []int32{0, 80} {
		got := compared(t, func(live, to *corev1.PodTemplateSpec) {
			live.Spec.HostNetwork, to.Spec.HostNetwork = same == 80, same == 80
			live.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
			to.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
		})
		assert.Equal(t, same == 0, len(got) > 0, got)
	}
	got := compared(t, func(live, to *corev1.PodTemplateSpec) {
		live.Spec.HostNetwork = true
		live.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		to.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
	})
	assert.Len(t, got, 2, "the network of the host and its port: %s", got)
	got = compared(t, func(live, to *corev1.PodTemplateSpec) {
		for _, side := range []*corev1.PodTemplateSpec{live, to} {
			side.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "p", Key: "k"}}}}
		}
		live.Spec.Containers[0].Env[0].ValueFrom.FileKeyRef.Optional = ptr.To(false)
	})
	assert.Empty(t, compared(t, func(live, to *corev1.PodTemplateSpec) {
		for side, written := range map[*corev1.PodTemplateSpec][2]string{live: {"1Gi", "1m"}, to: {"1073741824", "0.0001"}} {
			side.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse(written[0]))}}}}
			side.Spec.Overhead = limits(written[1])
			side.Spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 1}}} // without a service: null
		}
		live.Spec.Containers[0].Resources.Limits, to.Spec.Containers[0].Resources.Limits = limits("0.0001"), limits("1m")
	}), "quantities in all places, written and rounded on either side")
	assert.Empty(t, got, "fileKeyRef.optional, which only servers since v1.35 know")
}

// A container less is refused like a container more.
func TestTemplate_RefusesAContainerLess(t *testing.T) {
	d := running()
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side:1"})
	d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
	p, errs := plan.Migration(d, converted(t), nil, plan.Options{Method: plan.SideBySide})
	assert.Equal(t, []string{"spec.template.spec.containers[side]", "spec.template.spec.initContainers[init]"}, paths(errs))
	assert.Equal(t, plan.Plan{}, p)
}

func TestTemplate_WarningHasNoValue(t *testing.T) {
	d := running()
	for i := range 13 {
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprintf("K%02d", i), Value: "s3cret"})
	}
	r := converted(t)
	r.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "K12", Value: "s3cret too"}}
	p, errs := plan.Migration(d, r, nil, plan.Options{Method: plan.SideBySide})
	require.Empty(t, errs)
	got := differs(t, p)
	require.Len(t, got, 10)
	assert.Equal(t, "spec.template.spec.containers[web].env[K00] (dropped)", got[0])
	assert.Equal(t, "spec.template.spec.containers[web].env[K09] (dropped) and 3 more", got[9])
	assert.NotContains(t, p.Warnings[0], "s3cret")

	d.Spec.Template.Spec.Containers[0].Env = d.Spec.Template.Spec.Containers[0].Env[3:]
	p, errs = plan.Migration(d, r, nil, plan.Options{Method: plan.SideBySide})
	require.Empty(t, errs)
	assert.NotContains(t, p.Warnings[0], "more", "ten are all listed")
}

// filled is the template of manifest.json, and what the API server of
// internal/e2e/rollout, v1.36.3, made of it.
func filled(t *testing.T) (manifest *appsv1.Deployment, template map[string]any) {
	t.Helper()
	read(t, "manifest.json", &manifest)
	read(t, "filled.json", &template)
	return manifest, template
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

// A change of any value of a live template is seen, filled in or not. Without a
// change nothing is.
//
//req:shows R5
func TestTemplate_SeesEveryValue(t *testing.T) {
	manifest, template := filled(t)
	to, errs := rollout.Convert(manifest, rollout.Options{})
	require.Empty(t, errs)
	to.Namespace = "shop"
	migrate := func() (plan.Plan, int) {
		d := running()
		data, err := json.Marshal(template)
		require.NoError(t, err)
		d.Spec.Template = corev1.PodTemplateSpec{}
		require.NoError(t, json.Unmarshal(data, &d.Spec.Template))
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		to.Spec.Replicas = ptr.To[int32](5)
		p, errs := plan.Migration(d, to, nil, plan.Options{Method: plan.SideBySide})
		return p, len(errs)
	}
	p, refused := migrate()
	require.Zero(t, refused)
	require.Empty(t, differs(t, p))
	seen := 0
	eachLeaf("", template, func(path string) {
		seen++
		p, refused := migrate()
		assert.True(t, refused > 0 || len(differs(t, p)) > 0, path)
	})
	assert.Greater(t, seen, 150)
}

// eachLeaf calls visit with one value of the tree changed at a time.
func eachLeaf(path string, v any, visit func(path string)) {
	change := func(path string, old any, set func(any)) {
		switch x := old.(type) {
		case string:
			if _, err := resource.ParseQuantity(x); err == nil {
				set("7")
			} else {
				set(x + "x")
			}
		case float64:
			set(x + 1)
		case bool:
			set(!x)
		default:
			eachLeaf(path, old, visit)
			return
		}
		visit(path)
		set(old)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, old := range v {
			if key == "serviceAccount" { // a copy
				continue
			}
			change(path+"."+key, old, func(x any) { v[key] = x })
		}
	case []any:
		for i, old := range v {
			change(fmt.Sprint(path, "[", i, "]"), old, func(x any) { v[i] = x })
		}
	}
}

func limits(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}

// TestRollback_KeepsTheEmptyListsOfASelector: the CRD stores them, and kubectl
// prints them.
func TestRollback_KeepsTheEmptyListsOfASelector(t *testing.T) {
	u := live(t, func(*rollout.Rollout) {})
	u.Object["spec"].(map[string]any)["selector"].(map[string]any)["matchExpressions"] = []any{}
	p, errs := plan.Rollback(u, manifest(), nil, plan.Options{})
	require.Empty(t, errs)
	j := jsonpath.New("x").AllowMissingKeys(true)
	require.NoError(t, j.Parse("selector: {.spec.selector}"))
	var b strings.Builder
	require.NoError(t, j.Execute(&b, u.Object))
	assert.Contains(t, p.String(), b.String(), "what kubectl prints of the Rollout that has not changed")
}
