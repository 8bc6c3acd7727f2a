// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// Phase is where a run is in its life.
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Cancelled
type Phase string

// The phases. The last three are terminal.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
	Cancelled Phase = "Cancelled"
)

// Progress is what the status contract needs to know of a phase.
func (p Phase) Progress() status.Progress {
	switch p {
	case Running:
		return status.Running
	case Succeeded, Failed, Cancelled:
		return status.Done
	default:
		return status.Waiting
	}
}

// Terminal reports whether a run stays in the phase.
func (p Phase) Terminal() bool { return p.Progress() == status.Done }

// AgentRun is one run of an agent as a Job.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={arun,aruns}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name=Started,type=date,JSONPath=`.status.startedAt`
// +kubebuilder:printcolumn:name=Finished,type=date,JSONPath=`.status.finishedAt`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(self.status)",message="status may not be dropped"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.observedGeneration) || has(self.status.observedGeneration) && self.status.observedGeneration >= oldSelf.status.observedGeneration",message="status.observedGeneration may not go back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.startedAt) || has(self.status.startedAt) && int(self.status.startedAt) == int(oldSelf.status.startedAt)",message="status.startedAt may not change once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.finishedAt) || has(self.status.finishedAt) && int(self.status.finishedAt) == int(oldSelf.status.finishedAt)",message="status.finishedAt may not change once set"
type AgentRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AgentRunSpec   `json:"spec"`
	Status AgentRunStatus `json:"status,omitzero"`
}

// AgentRunSpec is what to run and for how long to keep it. Once the run has a
// Job, only changes of suspend, cancel and the two TTLs have an effect.
type AgentRunSpec struct {
	// Image of the agent's container.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^\S([\s\S]*\S)?$`
	Image string `json:"image"`
	// Command replaces the image's entrypoint.
	// +optional
	Command []string `json:"command,omitempty"`
	// Args replace the image's arguments.
	// +optional
	Args []string `json:"args,omitempty"`
	// Parameters reach the agent as one JSON object in the environment variable
	// AGENT_PARAMETERS. The key "prompt" is refused: prompts may hold secrets
	// and belong into secretRef.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`
	// SecretRef names a key of a Secret that reaches the agent as the
	// environment variable AGENT_SECRET. The run waits for it.
	// +optional
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// ServiceAccountName of the agent's pod.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// AutomountServiceAccountToken gives the agent the token of its service
	// account, for an agent that calls the API server.
	// +optional
	AutomountServiceAccountToken bool `json:"automountServiceAccountToken,omitempty"`
	// Resources of the agent's container. Unset means requests of 100m CPU and
	// 128Mi memory, and no limits.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// SecurityContext of the agent's container. Unset means user 65532 without
	// privileges, as the restricted standard of pod security demands.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// BackoffLimit is how often a failed pod is retried.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// TimeoutSeconds ends a run that takes longer; unset means no limit.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty"`
	// Suspend holds the run: no pod runs while it is true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Cancel ends the run as Cancelled, unless it has already finished.
	// +optional
	Cancel bool `json:"cancel,omitempty"`
	// JobTTLSecondsAfterFinished is how long the Job stays once its result is
	// recorded; 0 lets it go at once. Unset means the controller's setting.
	// +kubebuilder:validation:Minimum=0
	// +optional
	JobTTLSecondsAfterFinished *int32 `json:"jobTTLSecondsAfterFinished,omitempty"`
	// TTLSecondsAfterFinished is how long the run itself stays once it is
	// terminal; 0 keeps it. Unset means the controller's setting.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// PodAnnotations are put on the agent's pod.
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
}

// SecretRef names one key of a Secret in the run's namespace.
type SecretRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
	// Key of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:XValidation:rule="self != '.' && !self.startsWith('..')",message="may not be . or begin with .."
	Key string `json:"key"`
}

// AgentRunStatus is the observed state of a run.
type AgentRunStatus struct {
	// Phase of the run.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// Reason is a stable word for why the run is in its phase.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message explains the reason to a person.
	// +optional
	Message string `json:"message,omitempty"`

	status.Stamp `json:",inline"`

	// Conditions are Ready, Progressing and Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// JobRef is the run's Job.
	// +optional
	JobRef *jobgc.Ref `json:"jobRef,omitempty"`
}

// AgentRunList is a list of runs.
//
// +kubebuilder:object:root=true
type AgentRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AgentRun `json:"items"`
}
