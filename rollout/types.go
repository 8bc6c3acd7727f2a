// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout is a Rollout of argoproj.io/v1alpha1. It is a runtime.Object and,
// through its metadata, a metav1.Object. A typed client reads it after
// [AddToScheme].
//
// Spec has every field of upstream's spec (v1.10.2), under upstream's JSON
// names. What this package fills in is typed. What it only carries is a JSON
// object. Status has the fields that people read. Write with patches: an Update
// would drop the fields of the status that are not here.
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// RolloutList is a list of Rollouts, as a typed client reads it.
type RolloutList struct { //nolint:revive // Kubernetes names a list after its kind
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Rollout `json:"items"`
}

// Spec has pointers where unset is not zero: the controller gives 1 to a
// Rollout without Replicas. WorkloadRef names an object that has the template
// instead.
type Spec struct {
	Replicas                *int32                  `json:"replicas,omitempty"`
	Selector                *metav1.LabelSelector   `json:"selector,omitempty"`
	Template                *corev1.PodTemplateSpec `json:"template,omitempty"`
	WorkloadRef             map[string]any          `json:"workloadRef,omitzero"`
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

// Status is written by the controller. [PhaseOf] says whether Phase is of this
// generation. StableRS and CurrentPodHash are hashes of pod templates: of the
// version that all users had last, and of the newest one.
type Status struct {
	Phase                      Phase              `json:"phase,omitempty"`
	Message                    string             `json:"message,omitempty"`
	ObservedGeneration         string             `json:"observedGeneration,omitempty"`
	WorkloadObservedGeneration string             `json:"workloadObservedGeneration,omitempty"`
	Conditions                 []metav1.Condition `json:"conditions,omitempty"`
	StableRS                   string             `json:"stableRS,omitempty"`
	CurrentPodHash             string             `json:"currentPodHash,omitempty"`
	CurrentStepIndex           *int32             `json:"currentStepIndex,omitempty"`
	PauseConditions            []PauseCondition   `json:"pauseConditions,omitempty"`
	ControllerPause            bool               `json:"controllerPause,omitempty"`
	Abort                      bool               `json:"abort,omitempty"`
	Replicas                   int32              `json:"replicas,omitempty"`
	UpdatedReplicas            int32              `json:"updatedReplicas,omitempty"`
	AvailableReplicas          int32              `json:"availableReplicas,omitempty"`
	Canary                     map[string]any     `json:"canary,omitzero"`
}

// PauseCondition says why and since when a Rollout is paused.
type PauseCondition struct {
	Reason    string      `json:"reason"`
	StartTime metav1.Time `json:"startTime"`
}

// Strategy is a canary or blue-green, never both.
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

const (
	apiVersion = "argoproj.io/v1alpha1"
	kind       = "Rollout"
)

// GVK returns Rollout of argoproj.io/v1alpha1, the only version there is. For a
// dynamic client: GVK().GroupVersion().WithResource("rollouts").
func GVK() schema.GroupVersionKind { return schema.FromAPIVersionAndKind(apiVersion, kind) }

// AddToScheme lets typed clients, such as controller-runtime's, read Rollout
// and RolloutList. A scheme that has other types for these kinds, such as
// upstream's own, is an error: make a separate scheme and client. Upstream's
// AddToScheme panics if it comes after this one.
func AddToScheme(s *runtime.Scheme) error {
	if s == nil {
		return errors.New("rollout: addToScheme: the scheme is nil")
	}
	gv := GVK().GroupVersion()
	known := s.AllKnownTypes()
	for _, object := range []runtime.Object{&Rollout{}, &RolloutList{}} {
		ours := reflect.TypeOf(object).Elem()
		theirs, ok := known[gv.WithKind(ours.Name())]
		if ok && theirs != ours {
			return fmt.Errorf("rollout: addToScheme: the scheme has %s.%s for kind %s of %s; "+
				"make a separate scheme", theirs.PkgPath(), theirs.Name(), ours.Name(), gv)
		}
	}
	s.AddKnownTypes(gv, &Rollout{}, &RolloutList{})
	metav1.AddToGroupVersion(s, gv)
	return nil
}
