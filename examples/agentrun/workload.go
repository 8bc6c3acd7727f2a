// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	eventsettings "github.com/proompteng/controllerkit/events/settings"
	jobsettings "github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/rollout/settings"
)

// appVersion is the version in the labels of the workload, and the tag of its
// image: the appVersion of examples/chart.
const appVersion = "0.1.0"

// user is who the container runs as.
const user = int64(65532)

// workload is what "agentrun manifests" prints: the pods that reconcile.
type workload struct {
	release, namespace string
	image              string
	replicas           int
	switched           *bool // --progressive-delivery, if it was given
	canary             settings.Settings

	workers       int
	namespaces    string
	allNamespaces bool
	logFormat     string
	leaderElect   bool
	leaseDuration time.Duration
	more          []string // further flags of the container
	variables     []corev1.EnvVar
}

// variables are the settings of the controller, from the environment or with
// their defaults.
func variables(lookup func(string) (string, bool)) []corev1.EnvVar {
	jobs := jobsettings.JangarNames()
	recorder := eventsettings.JangarNames()
	vars := []corev1.EnvVar{
		{Name: jobs.RunRetention, Value: "2592000"},
		{Name: jobs.JobTTL, Value: "600"},
		{Name: jobs.LogRetention, Value: "604800"},
		{Name: recorder.Enabled, Value: "true"},
		{Name: recorder.WritesPerMinute, Value: "5"},
	}
	for i := range vars {
		value, _ := lookup(vars[i].Name)
		if strings.TrimSpace(value) != "" {
			vars[i].Value = value
		}
	}
	return vars
}

// name is the name that the chart gives the workload.
func (w *workload) name() string {
	if strings.Contains(w.release, "agentrun") {
		return w.release + "-controllers"
	}
	return w.release + "-agentrun-controllers"
}

// args are the arguments of the container.
func (w *workload) args() []string {
	args := []string{
		"--metrics-bind-address=:8080",
		"--log-format=" + w.logFormat,
		fmt.Sprintf("--workers=%d", w.workers),
	}
	if !w.allNamespaces {
		args = append(args, "--namespaces="+cmp.Or(w.namespaces, w.namespace))
	}
	args = append(args, fmt.Sprintf("--leader-elect=%t", w.leaderElect))
	if w.leaderElect {
		args = append(args,
			"--leader-elect-lease-name="+w.name(),
			fmt.Sprintf("--leader-elect-lease-duration=%gs", w.leaseDuration.Seconds()),
		)
	}
	return append(args, w.more...)
}

// deployment is the workload without a canary.
func (w *workload) deployment() *appsv1.Deployment {
	selector := map[string]string{
		"app.kubernetes.io/name":      "agentrun",
		"app.kubernetes.io/instance":  w.release,
		"app.kubernetes.io/component": "controllers",
	}
	labels := map[string]string{"app.kubernetes.io/version": appVersion}
	maps.Copy(labels, selector)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: w.name(), Namespace: w.namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas:                new(int32(w.replicas)), //nolint:gosec // checked
			ProgressDeadlineSeconds: new(int32(600)),
			RevisionHistoryLimit:    new(int32(10)),
			Selector:                &metav1.LabelSelector{MatchLabels: selector},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
				},
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: w.pod()},
		},
	}
}

func (w *workload) pod() corev1.PodSpec {
	http := corev1.ContainerPort{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}
	return corev1.PodSpec{
		ServiceAccountName:            w.name(),
		AutomountServiceAccountToken:  new(true),
		TerminationGracePeriodSeconds: new(int64(30)),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			RunAsUser:      new(user),
			RunAsGroup:     new(user),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name:            "agentrun",
			Image:           w.image,
			ImagePullPolicy: corev1.PullIfNotPresent,
			Args:            w.args(),
			Env:             slices.Concat(ofPod(), w.variables),
			Ports:           []corev1.ContainerPort{http},
			LivenessProbe:   &corev1.Probe{ProbeHandler: get("/healthz")},
			ReadinessProbe:  &corev1.Probe{ProbeHandler: get("/readyz"), PeriodSeconds: 5},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(50, resource.DecimalSI),
					corev1.ResourceMemory: *resource.NewQuantity(64<<20, resource.BinarySI),
				},
				Limits: corev1.ResourceList{
					corev1.ResourceMemory: *resource.NewQuantity(256<<20, resource.BinarySI),
				},
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false),
				ReadOnlyRootFilesystem:   new(true),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}

// ofPod are the variables that the kubelet sets. With GOMEMLIMIT, Go collects
// garbage before the kernel kills the process.
func ofPod() []corev1.EnvVar {
	name := &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}
	namespace := &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}
	memory := &corev1.ResourceFieldSelector{
		Resource: "limits.memory",
		Divisor:  *resource.NewQuantity(1, resource.DecimalSI),
	}
	return []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: name}},
		{Name: "POD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: namespace}},
		{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: memory}},
	}
}

func get(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http")}}
}
