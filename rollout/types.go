// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout is a Rollout of argoproj.io/v1alpha1 without its status, which is the
// controller's. It is a runtime.Object and, through its metadata, a
// metav1.Object.
//
// The types have every field of upstream's spec (v1.10.1), under upstream's
// JSON names. What this package fills in is typed; what it only carries and
// checks is a JSON object. Marshalled bytes are equal for equal values.
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec `json:"spec"`
}

// Spec has pointers where unset is not zero: a Rollout with a WorkloadRef must
// not carry a Template, and one without Replicas is given 1 by the controller.
type Spec struct {
	Replicas                *int32                  `json:"replicas,omitempty"`
	Selector                *metav1.LabelSelector   `json:"selector,omitempty"`
	Template                *corev1.PodTemplateSpec `json:"template,omitempty"`
	WorkloadRef             *WorkloadRef            `json:"workloadRef,omitempty"`
	MinReadySeconds         int32                   `json:"minReadySeconds,omitempty"`
	RollbackWindow          map[string]any          `json:"rollbackWindow,omitzero"`
	Strategy                Strategy                `json:"strategy"`
	RevisionHistoryLimit    *int32                  `json:"revisionHistoryLimit,omitempty"`
	Paused                  bool                    `json:"paused,omitempty"`
	ProgressDeadlineSeconds *int32                  `json:"progressDeadlineSeconds,omitempty"`
	ProgressDeadlineAbort   bool                    `json:"progressDeadlineAbort,omitempty"`
	RestartAt               *metav1.Time            `json:"restartAt,omitempty"`
	Analysis                map[string]any          `json:"analysis,omitzero"`
}

// Strategy is a canary. A blue-green strategy can be carried instead, never
// both.
type Strategy struct {
	Canary    *Canary        `json:"canary,omitempty"`
	BlueGreen map[string]any `json:"blueGreen,omitzero"`
}

// Canary says how the new version takes over. MaxSurge and MaxUnavailable that
// are not set are 25% to the controller.
type Canary struct {
	MaxSurge       *intstr.IntOrString `json:"maxSurge,omitempty"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	Steps          []Step              `json:"steps,omitempty"`

	CanaryService               string         `json:"canaryService,omitempty"`
	StableService               string         `json:"stableService,omitempty"`
	TrafficRouting              map[string]any `json:"trafficRouting,omitzero"`
	Analysis                    map[string]any `json:"analysis,omitzero"`
	AntiAffinity                map[string]any `json:"antiAffinity,omitzero"`
	CanaryMetadata              map[string]any `json:"canaryMetadata,omitzero"`
	StableMetadata              map[string]any `json:"stableMetadata,omitzero"`
	ScaleDownDelaySeconds       *int32         `json:"scaleDownDelaySeconds,omitempty"`
	ScaleDownDelayRevisionLimit *int32         `json:"scaleDownDelayRevisionLimit,omitempty"`
	AbortScaleDownDelaySeconds  *int32         `json:"abortScaleDownDelaySeconds,omitempty"`
	DynamicStableScale          bool           `json:"dynamicStableScale,omitempty"`
	PingPong                    map[string]any `json:"pingPong,omitzero"`
	MinPodsPerReplicaSet        *int32         `json:"minPodsPerReplicaSet,omitempty"`
	ReplicaProgressThreshold    map[string]any `json:"replicaProgressThreshold,omitzero"`
}

// Step is exactly one action. [SetWeight], [PauseManual] and [PauseFor] make
// the usual ones.
type Step struct {
	SetWeight      *int32         `json:"setWeight,omitempty"`
	Pause          *Pause         `json:"pause,omitempty"`
	Experiment     map[string]any `json:"experiment,omitzero"`
	Analysis       map[string]any `json:"analysis,omitzero"`
	SetCanaryScale map[string]any `json:"setCanaryScale,omitzero"`
	SetHeaderRoute map[string]any `json:"setHeaderRoute,omitzero"`
	SetMirrorRoute map[string]any `json:"setMirrorRoute,omitzero"`
	Plugin         map[string]any `json:"plugin,omitzero"`
}

// Pause waits for a person if Duration is nil, and otherwise for that long:
// whole seconds, or a Go duration such as 10m.
type Pause struct {
	Duration *intstr.IntOrString `json:"duration,omitempty"`
}

// WorkloadRef takes the pod template from a Deployment, ReplicaSet or
// PodTemplate. ScaleDown says when the controller removes the Deployment's own
// pods: never (the default), onsuccess or progressively.
type WorkloadRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	ScaleDown  string `json:"scaleDown,omitempty"`
}

const (
	apiVersion = "argoproj.io/v1alpha1"
	kind       = "Rollout"
)

// GVK returns Rollout of argoproj.io/v1alpha1, the only version there is.
func GVK() schema.GroupVersionKind { return schema.FromAPIVersionAndKind(apiVersion, kind) }

// Unstructured returns r as a dynamic client takes it, apiVersion and kind
// filled in. It shares no memory with r. To send bytes, marshal r instead: that
// is several times faster. It fails on nil and on what JSON cannot hold.
func (r *Rollout) Unstructured() (*unstructured.Unstructured, error) {
	if r == nil {
		return nil, errors.New("rollout: unstructured: the Rollout is nil")
	}
	named := *r
	named.APIVersion, named.Kind = apiVersion, kind
	data, err := json.Marshal(&named)
	if err != nil {
		return nil, fmt.Errorf("rollout: unstructured: %w", err)
	}
	u := new(unstructured.Unstructured)
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("rollout: unstructured: %w", err)
	}
	return u, nil
}

// DeepCopyObject shares no memory with r, and is nil for nil.
func (r *Rollout) DeepCopyObject() runtime.Object {
	if r == nil {
		return nil
	}
	return r.DeepCopy()
}
