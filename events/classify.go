// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Classify returns the reason to report err under, and whether it is terminal: a retry of the same inputs fails the same way.
// A nil error has no reason and is not terminal.
//
// For InvalidSpec wait until the object changes. For the Missing reasons and Forbidden it is something else that has to
// change: watch the dependency, or requeue slowly, and do not drop the key, or nobody notices when it is mended.
//
// An error of the chain that says so itself comes first: one with Reason() string for the reason, one with Terminal() bool
// for the other. Then come API errors: Invalid, Forbidden, and NotFound of a named object are terminal; conflicts, timeouts,
// throttling, 5xx, network and context errors are not. Anything else is InternalError and not terminal. Of several errors
// joined, the first that fits decides.
func Classify(err error) (reason string, terminal bool) {
	if err == nil {
		return "", false
	}
	if absent(err) {
		return InternalError, false
	}
	reason, terminal = classifyAPI(err)
	if own, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok && !absent(own) && own.Reason() != "" {
		reason = own.Reason()
	}
	if own, ok := errors.AsType[interface {
		error
		Terminal() bool
	}](err); ok && !absent(own) {
		terminal = own.Terminal()
	}
	return reason, terminal
}

// Terminal reports whether a retry of the same inputs fails the same way, as [Classify] does, which says what to do then; false
// for nil. It has the shape that a func(error) bool option asks for.
func Terminal(err error) bool {
	_, terminal := Classify(err)
	return terminal
}

// apiError is an error that carries the Status of an API server's answer.
type apiError interface {
	error
	Status() metav1.Status
}

// classifyAPI agrees with the predicates of apimachinery's errors package, each of which looks for the Status anew, and
// allocates; here it is looked up once.
func classifyAPI(err error) (reason string, terminal bool) {
	if api, ok := errors.AsType[apiError](err); ok && !absent(api) {
		return classifyStatus(api.Status())
	}
	if errors.Is(err, context.Canceled) {
		return Unavailable, false
	}
	if failed, ok := errors.AsType[net.Error](err); ok && !absent(failed) { // context.DeadlineExceeded is one
		if failed.Timeout() {
			return Timeout, false
		}
		if _, bare := failed.(syscall.Errno); bare {
			return InternalError, false // of a file or a process; one of the network is within a net.OpError
		}
		return Unavailable, false
	}
	return InternalError, false
}

func classifyStatus(s metav1.Status) (reason string, terminal bool) {
	switch s.Reason {
	case metav1.StatusReasonInvalid:
		return InvalidSpec, true
	case metav1.StatusReasonForbidden:
		return Forbidden, true
	case metav1.StatusReasonNotFound:
		return classifyMissing(s.Details)
	case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists:
		return Conflict, false
	case metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout:
		return Timeout, false
	case metav1.StatusReasonTooManyRequests, metav1.StatusReasonServiceUnavailable, metav1.StatusReasonInternalError:
		return Unavailable, false
	default:
		return classifyCode(s)
	}
}

// classifyCode is for reasons that say nothing, or that nobody knows: there the predicates judge by the code.
func classifyCode(s metav1.Status) (reason string, terminal bool) {
	switch err := error(&apierrors.StatusError{ErrStatus: s}); {
	case apierrors.IsInvalid(err):
		return InvalidSpec, true
	case apierrors.IsForbidden(err):
		return Forbidden, true
	case apierrors.IsNotFound(err):
		return classifyMissing(s.Details)
	case apierrors.IsConflict(err):
		return Conflict, false
	case apierrors.IsTimeout(err):
		return Timeout, false
	case apierrors.IsTooManyRequests(err), s.Code >= http.StatusInternalServerError:
		return Unavailable, false
	}
	return InternalError, false
}

// classifyMissing tells a missing object from an API that is not served, which answers 404 without a name. The kind is the
// resource when the API server answers, its singular from listers, and the kind itself from controller-runtime's cache.
func classifyMissing(d *metav1.StatusDetails) (reason string, terminal bool) {
	if d == nil || d.Name == "" {
		return Unavailable, false
	}
	for _, c := range d.Causes {
		if c.Type == metav1.CauseTypeUnexpectedServerResponse {
			return Unavailable, false
		}
	}
	switch {
	case strings.EqualFold(d.Kind, "secrets"), strings.EqualFold(d.Kind, "secret"):
		return MissingSecret, true
	case strings.EqualFold(d.Kind, "configmaps"), strings.EqualFold(d.Kind, "configmap"):
		return MissingConfigMap, true
	}
	return MissingDependency, true
}
