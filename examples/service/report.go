// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

var groupVersion = schema.GroupVersion{Group: "service.example.com", Version: "v1"}

// Report is a report that the service makes with a Job.
type Report struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   ReportSpec   `json:"spec"`
	Status ReportStatus `json:"status"`
}

// ReportSpec is what the Job runs.
type ReportSpec struct {
	Image   string   `json:"image"`
	Command []string `json:"command,omitempty"`
}

// ReportStatus has the fields of the status contract, and the Job.
type ReportStatus struct {
	status.Stamp `json:",inline"`

	Phase      Phase              `json:"phase,omitempty"`
	Job        *jobgc.Ref         `json:"job,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Phase says how far a Report is.
type Phase string

// The phases.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// ReportList is a list of Reports.
type ReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Report `json:"items"`
}

// DeepCopy copies a Report. controller-gen would generate it.
func (r *Report) DeepCopy() *Report {
	out := *r
	out.ObjectMeta = *r.ObjectMeta.DeepCopy()
	out.Spec.Command = append([]string(nil), r.Spec.Command...)
	stamp := r.Status.Stamp
	out.Status.Stamp = *stamp.DeepCopy()
	out.Status.Job = r.Status.Job.DeepCopy()
	out.Status.Conditions = append([]metav1.Condition(nil), r.Status.Conditions...)
	return &out
}

// DeepCopyObject makes a Report a runtime.Object.
func (r *Report) DeepCopyObject() runtime.Object { return r.DeepCopy() }

// DeepCopyObject makes a ReportList a runtime.Object.
func (l *ReportList) DeepCopyObject() runtime.Object {
	out := *l
	meta := l.ListMeta
	out.ListMeta = *meta.DeepCopy()
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return &out
}

// newClient returns a client of the Reports, and the scheme with their kind. A
// generated clientset has both.
func newClient(config *rest.Config) (*rest.RESTClient, *runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Report{}, &ReportList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &groupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	return client, scheme, err
}

// newJob is the Job of a Report, in a namespace of any pod security standard.
// jobgc gives it its name and its TTL.
func (r *Report) newJob() *batchv1.Job {
	owner := *metav1.NewControllerRef(r, groupVersion.WithKind("Report"))
	container := corev1.Container{
		Name: "report", Image: r.Spec.Image, Command: r.Spec.Command,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{container},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr.To(true),
			RunAsUser:      ptr.To(int64(65532)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       r.Namespace,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To(int32(0)),
			Template:     corev1.PodTemplateSpec{Spec: pod},
		},
	}
}

// progress is how far each phase is.
var progress = map[Phase]status.Progress{Running: status.Running, Succeeded: status.Done, Failed: status.Done}

// done reports whether the phase is final.
func (r *Report) done() bool { return progress[r.Status.Phase] == status.Done }

// enter puts the Report into the phase that its Job is in.
func (r *Report) enter(job jobgc.Observation) {
	switch {
	case job.Lost():
		r.set(Failed, "WorkflowJobMissing", "the Job has no result: "+job.Message)
	case job.Outcome == jobgc.Failed:
		r.set(Failed, "JobFailed", job.Reason+": "+job.Message)
	case job.Outcome == jobgc.Succeeded:
		r.set(Succeeded, "JobSucceeded", "")
	case !job.StartedAt.IsZero():
		r.set(Running, "JobRunning", "")
	case r.Status.Job != nil && r.Status.Phase != Running:
		r.set(Pending, "JobCreated", "")
	}
}

// hinder records an error. A Report whose Job the API server finds invalid has
// failed. After any other error the controller tries again.
func (r *Report) hinder(err error) {
	reason, _ := events.Classify(err)
	phase := cmp.Or(r.Status.Phase, Pending)
	if reason == events.InvalidSpec && r.Status.Job == nil {
		phase = Failed
	}
	r.set(phase, reason, err.Error())
}

func (r *Report) set(phase Phase, reason, message string) {
	r.Status.Phase = phase
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if phase == Succeeded {
		ready.Status = metav1.ConditionTrue
	}
	status.SetCondition(&r.Status.Conditions, ready, time.Now())
}
