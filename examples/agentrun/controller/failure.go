// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// The reasons of this controller, in addition to the reasons of package events.
// Status, conditions and Events have them.
const (
	reasonWaiting            = "WaitingForJob"
	reasonSuspended          = "Suspended"
	reasonRunning            = "JobRunning"
	reasonNoPods             = "NoPods"
	reasonDeleting           = "JobDeleting"
	reasonSucceeded          = "JobSucceeded"
	reasonJobFailed          = "JobFailed"
	reasonCancelled          = "Cancelled"
	reasonWorkflowJobMissing = "WorkflowJobMissing"
)

// failure is an error of a run that only an external change can fix. Packages
// events and metrics use its two methods.
type failure struct{ reason, message string }

func (f *failure) Error() string  { return f.message }
func (f *failure) Reason() string { return f.reason }
func (f *failure) Terminal() bool { return true }

// reasonOf returns the reason of a failure, as package events records it.
func reasonOf(err error) string {
	reason, _ := events.Classify(err)
	return reason
}

// isOvertaken reports whether err says that the run was changed by someone else
// since it was read.
func isOvertaken(err error) bool { return reasonOf(err) == events.Conflict }

// isMissingSecret reports whether the API server says that the Secret does not
// exist. The 404 of a proxy is not such an answer.
func isMissingSecret(err error) bool { return reasonOf(err) == events.MissingSecret }

// persistAfter is how long a run may fail for a reason that usually passes.
const persistAfter = time.Minute

// persists reports whether the stored status of the run has the same reason for
// at least that long. A run that waits for an API server which does not answer
// has no such status.
func persists(run *v1alpha1.AgentRun, reason string, now time.Time) bool {
	stored := apimeta.FindStatusCondition(run.Status.Conditions, degraded)
	if stored == nil || stored.Status != metav1.ConditionTrue || stored.Reason != reason {
		return false
	}
	return now.Sub(stored.LastTransitionTime.Time) >= persistAfter
}

// mayBeStarting reports whether an API server that has just started answers so:
// it refuses valid requests until its caches are filled. Others answer so too.
func mayBeStarting(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
}

// unanswered reports whether err is from a request without an answer. This
// controller sends requests only to the API server.
func unanswered(err error) bool {
	return errors.As(err, new(net.Error)) // every error of http.Client is one, and context.DeadlineExceeded
}

// lastRequest returns what such an error says about its last request alone.
func lastRequest(err error) string {
	failed, ok := errors.AsType[net.Error](err)
	if !ok {
		return ""
	}
	return failed.Error()
}
