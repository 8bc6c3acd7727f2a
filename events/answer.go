// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"net"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events/internal/errtree"
)

// A reply is what the answer to a request means.
type reply uint8

const (
	written        reply = iota
	nameTaken            // again under a new name
	eventGone            // the Event to update has expired
	rejected             // no retry can save the write
	namespaceGone        // the namespace is absent or terminating
	groupRefused         // the API group is not served, or not granted
	namespaceFails       // or this write does

	// These do not say that the server takes requests.

	noAnswer    // in time, as behind a webhook that hangs
	serverFails // there is no connection, or it cannot take any write
	interrupted // the caller ended before the answer
)

// read reads err, the answer to a create or to a patch that failed. It depends
// on nothing else.
func read(err error, create bool) reply {
	status, answered := apiStatus(err)
	switch {
	case !answered && timedOut(err):
		return noAnswer
	case !answered:
		return serverFails
	}
	isTerminating := apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	isRouter := apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	isNotFound := apierrors.IsNotFound(err)
	switch {
	case isTerminating, isNotFound && status.Details.Kind == "namespaces":
		return namespaceGone
	case apierrors.IsForbidden(err):
		return groupRefused
	case create && apierrors.IsAlreadyExists(err):
		return nameTaken
	case isNotFound && (create || isRouter):
		return groupRefused
	case isNotFound:
		return eventGone
	case isRejection(err):
		return rejected
	case isOutage(err), status.Code == http.StatusBadGateway:
		return serverFails
	}
	return namespaceFails // such as a 500 of a webhook
}

func isAny(err error, predicates ...func(error) bool) bool {
	return slices.ContainsFunc(predicates, func(is func(error) bool) bool { return is(err) })
}

// isOutage reports whether err concerns the whole server.
func isOutage(err error) bool {
	return isAny(err,
		apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable, apierrors.IsUnauthorized)
}

// isRejection reports whether err says that the Event is not acceptable.
func isRejection(err error) bool {
	return isAny(err,
		apierrors.IsInvalid, apierrors.IsBadRequest, apierrors.IsMethodNotSupported,
		apierrors.IsNotAcceptable, apierrors.IsUnsupportedMediaType, apierrors.IsRequestEntityTooLargeError)
}

func timedOut(err error) bool {
	failed, ok := errtree.Find[net.Error](err) // context.DeadlineExceeded is one
	return ok && failed.Timeout()
}

// apiStatus returns the answer of the API server, if there is one. It has
// details.
func apiStatus(err error) (s metav1.Status, ok bool) {
	found, ok := errtree.Find[apierrors.APIStatus](err)
	if ok {
		s = found.Status()
	}
	if s.Details == nil {
		s.Details = new(metav1.StatusDetails)
	}
	return s, ok
}

// explain says what to fix; its text is not redacted yet. The message of a
// refused Event may quote its note, so of that it names only the fields.
func explain(err error) string {
	status, _ := apiStatus(err)
	if len(status.Details.Causes) > 0 && apierrors.IsInvalid(err) {
		fields := make([]string, len(status.Details.Causes))
		for i, c := range status.Details.Causes {
			fields[i] = c.Field + ": " + string(c.Type)
		}
		return strings.Join(fields, ", ")
	}
	return err.Error()
}
