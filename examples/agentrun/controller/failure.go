// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// The reasons of this controller, in addition to those of package events.
// Status, conditions and Events have them.
const (
	reasonWaiting            = "WaitingForJob"
	reasonSuspended          = "Suspended"
	reasonRunning            = "JobRunning"
	reasonDeleting           = "JobDeleting"
	reasonSucceeded          = "JobSucceeded"
	reasonJobFailed          = "JobFailed"
	reasonCancelled          = "Cancelled"
	reasonInvalidSpec        = "InvalidSpec"
	reasonMissingSecret      = "MissingSecret"
	reasonWorkflowJobMissing = "WorkflowJobMissing"
)

// failure is an error of a run that only an external change can fix. Packages
// events and metrics use its two methods.
type failure struct {
	reason, message string
}

func (f *failure) Error() string  { return f.message }
func (f *failure) Reason() string { return f.reason }
func (f *failure) Terminal() bool { return true }

// check returns an error if this controller refuses the run's spec, in addition
// to the checks of the CRD's schema.
func check(run *v1alpha1.AgentRun) error {
	if _, found := run.Spec.Parameters["prompt"]; found {
		return &failure{reasonInvalidSpec, `spec.parameters[prompt] is not accepted: put the prompt into a Secret and name it in spec.secretRef`}
	}
	return nil
}

// absent reports whether the API server says that the object does not exist.
// The answer of a proxy, or of a server that does not serve the kind, has a
// cause and does not count.
func absent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// missingSecret returns the error for a Secret or key that does not exist yet.
func missingSecret(ref *v1alpha1.SecretRef, exists bool) error {
	if !exists {
		return &failure{reasonMissingSecret, fmt.Sprintf("spec.secretRef: Secret %q does not exist yet", ref.Name)}
	}
	return &failure{reasonMissingSecret, fmt.Sprintf("spec.secretRef: Secret %q has no key %q yet", ref.Name, ref.Key)}
}
