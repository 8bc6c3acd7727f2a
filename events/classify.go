// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/events/internal/caller"
	"github.com/proompteng/controllerkit/events/internal/errtree"
)

// Classify returns the reason to report err under, and whether it is terminal:
// a retry of the same inputs fails the same way. A nil error has no reason and
// is not terminal.
//
// For InvalidSpec wait until the object changes. For the Missing reasons and
// Forbidden something else has to change: watch the dependency or requeue
// slowly. Keep the key in the queue: otherwise no reconcile follows the change.
// Do not return controller-runtime's TerminalError for them: in a joined error
// it stops the retries of the other errors too.
//
// Classify looks through wrapped and joined errors for these, in this order,
// and the first match decides:
//
//	a method Reason() string                    what it returns, if a condition could have it
//	a method Terminal() bool                    what it returns
//	an API error: 422                           InvalidSpec, terminal
//	  403                                       Forbidden, terminal
//	  404 of a named object                     a Missing reason, terminal
//	  409                                       Conflict, but only if no other
//	                                            error is joined with it
//	  504, or the reason ServerTimeout          Timeout
//	  429, other 5xx, 404 without a name        Unavailable
//	  another answer                            InternalError
//	*field.Error                                InvalidSpec, terminal
//	context.Canceled                            Unavailable
//	a timeout, also context.DeadlineExceeded    Timeout
//	another network error                       Unavailable
//	anything else                               InternalError
//
// If a method of err panics, the reason is InternalError.
func Classify(err error) (reason string, terminal bool) {
	defer func() {
		if recover() != nil {
			reason, terminal = InternalError, false
		}
	}()
	if err == nil {
		return "", false
	}
	reason, terminal = classifyAPI(err)
	if own, ok := errtree.Find[interface{ Reason() string }](err); ok && isReason(own.Reason()) {
		reason = own.Reason()
	}
	if own, ok := errtree.Find[interface{ Terminal() bool }](err); ok {
		terminal = own.Terminal()
	}
	return reason, terminal
}

const inReasons = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_,:"

// isReason reports whether s has only what the reason of a condition may have.
// Some generated errors have a method Reason that returns a sentence.
func isReason(s string) bool {
	return s != "" && len(s) <= caller.MaxName && strings.Trim(s, inReasons) == ""
}

// IsTerminal reports whether a retry of the same inputs fails the same way, as
// [Classify] does. It is false for nil. Pass it where a func(error) bool is
// wanted, such as in metrics.Options.
func IsTerminal(err error) bool {
	_, terminal := Classify(err)
	return terminal
}

// classifyAPI agrees with the predicates of apimachinery's errors package.
// These look for the Status on each call, and allocate; classifyAPI looks once.
func classifyAPI(err error) (reason string, terminal bool) {
	if api, ok := errtree.Find[apierrors.APIStatus](err); ok {
		return classifyStatus(api.Status())
	}
	// What a controller returns that has checked a spec.
	if own, ok := errtree.Find[*field.Error](err); ok && own.Type != field.ErrorTypeInternal {
		return InvalidSpec, true
	}
	if errtree.Canceled(err) {
		return Unavailable, false
	}
	if failed, ok := errtree.Find[net.Error](err); ok { // context.DeadlineExceeded is one
		_, bare := failed.(syscall.Errno) // of a file or a process; that of a network is in a net.OpError
		switch {
		case failed.Timeout():
			return Timeout, false
		case !bare:
			return Unavailable, false
		}
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
	case metav1.StatusReasonTooManyRequests,
		metav1.StatusReasonServiceUnavailable,
		metav1.StatusReasonInternalError:
		return Unavailable, false
	default: // below
	}
	// The predicates look at the code of empty and unknown reasons alone.
	byCode := map[int32]metav1.StatusReason{
		http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
		http.StatusForbidden:           metav1.StatusReasonForbidden,
		http.StatusNotFound:            metav1.StatusReasonNotFound,
		http.StatusConflict:            metav1.StatusReasonConflict,
		http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
		http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	}
	unknown := &apierrors.StatusError{}
	unknown.ErrStatus.Reason = s.Reason
	unknown.ErrStatus.Code = http.StatusConflict
	if reason, ok := byCode[s.Code]; ok && apierrors.IsConflict(unknown) {
		s.Reason = reason
		return classifyStatus(s)
	}
	if s.Code >= http.StatusInternalServerError {
		return Unavailable, false
	}
	return InternalError, false
}

// classifyMissing distinguishes a missing object from an API that is not
// served, which answers 404 without a name. The kind is the resource when the
// API server answers, its singular from listers, and the kind itself from
// controller-runtime's cache.
func classifyMissing(d *metav1.StatusDetails) (reason string, terminal bool) {
	if d == nil || d.Name == "" || slices.ContainsFunc(d.Causes, isForeign) {
		return Unavailable, false
	}
	switch {
	case strings.EqualFold(d.Kind, "secrets"), strings.EqualFold(d.Kind, "secret"):
		return MissingSecret, true
	case strings.EqualFold(d.Kind, "configmaps"), strings.EqualFold(d.Kind, "configmap"):
		return MissingConfigMap, true
	}
	return MissingDependency, true
}

// isForeign reports whether the cause says that no API server answered.
func isForeign(c metav1.StatusCause) bool {
	return c.Type == metav1.CauseTypeUnexpectedServerResponse
}
