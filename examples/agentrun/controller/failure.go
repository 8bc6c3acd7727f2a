// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// The reasons of this controller beside those of package events. They stand in status, conditions and events.
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

// failure is an error of a run that only a change from outside can mend. Packages events and metrics find the two methods.
type failure struct {
	reason, message string
}

func (f *failure) Error() string  { return f.message }
func (f *failure) Reason() string { return f.reason }
func (f *failure) Terminal() bool { return true }

// check says what of a run's spec this controller refuses, beyond what the CRD's schema already does.
func check(run *v1alpha1.AgentRun) error {
	if _, found := run.Spec.Parameters["prompt"]; found {
		return &failure{reasonInvalidSpec, `spec.parameters[prompt] is not accepted: put the prompt into a Secret and name it in spec.secretRef`}
	}
	return nil
}

// absent reports whether the API server says that what was asked for does not exist. What a proxy answers, or a server that does
// not serve the kind, has a cause, and says nothing of it.
func absent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// missingSecret says what of a run's Secret is not there yet.
func missingSecret(ref *v1alpha1.SecretRef, exists bool) error {
	if !exists {
		return &failure{reasonMissingSecret, fmt.Sprintf("spec.secretRef: Secret %q does not exist yet", ref.Name)}
	}
	return &failure{reasonMissingSecret, fmt.Sprintf("spec.secretRef: Secret %q has no key %q yet", ref.Name, ref.Key)}
}
