// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Classify returns the reason to report err under, and whether no retry mends it. A nil error has none and is not terminal.
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

// Terminal reports whether no retry mends err, as [Classify] does; false for nil. It has the shape that a func(error) bool
// option asks for.
func Terminal(err error) bool {
	_, terminal := Classify(err)
	return terminal
}

func classifyAPI(err error) (reason string, terminal bool) {
	switch {
	case apierrors.IsInvalid(err):
		return InvalidSpec, true
	case apierrors.IsForbidden(err):
		return Forbidden, true
	case apierrors.IsNotFound(err):
		return classifyMissing(err)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return Conflict, false
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return Timeout, false
	case apierrors.IsTooManyRequests(err), errors.Is(err, context.Canceled):
		return Unavailable, false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= 500 {
		return Unavailable, false
	}
	if failed, ok := errors.AsType[net.Error](err); ok {
		if failed.Timeout() {
			return Timeout, false
		}
		return Unavailable, false
	}
	return InternalError, false
}

// classifyMissing tells a missing object from an API that is not served, which answers 404 without a name. The kind is the
// resource when the API server answers, its singular from listers, and the kind itself from controller-runtime's cache.
func classifyMissing(err error) (reason string, terminal bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || status.Status().Details.Name == "" ||
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return Unavailable, false
	}
	switch strings.TrimSuffix(strings.ToLower(status.Status().Details.Kind), "s") {
	case "secret":
		return MissingSecret, true
	case "configmap":
		return MissingConfigMap, true
	}
	return MissingDependency, true
}
