// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"net"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events/internal/errtree"
	"github.com/proompteng/controllerkit/events/redact"
)

// A step is the reaction to the answer of a request.
type step uint8

const (
	done          step = iota
	rename             // the name is taken: again under a new name
	recreate           // the Event to update has expired
	reject             // no retry can save the write
	leave              // the namespace is absent or terminating
	otherGroup         // not granted by this API group
	otherService       // not served by this API group
	waitNamespace      // the namespace, or this write, fails
	waitServer         // the server fails, or the way to it
	interrupted        // the caller ended before the answer
)

// nextStep reads err, the answer to a create or to a patch that failed. It
// depends on nothing else.
func nextStep(err error, create bool) step {
	status, answered := apiStatus(err)
	switch {
	case !answered && timedOut(err):
		return waitNamespace // as behind a webhook that hangs
	case !answered:
		return waitServer
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), status.Code == http.StatusNotFound && status.Details.Kind == "namespaces":
		return leave
	case apierrors.IsForbidden(err):
		return otherGroup
	case create && apierrors.IsAlreadyExists(err):
		return rename
	case notServed(err):
		return otherService
	case apierrors.IsNotFound(err) && !create:
		return recreate
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsUnauthorized(err), status.Code == http.StatusBadGateway:
		return waitServer
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err), apierrors.IsRequestEntityTooLargeError(err):
		return reject
	}
	return waitNamespace // such as a 500 of a webhook
}

func timedOut(err error) bool {
	failed, ok := errtree.Find[net.Error](err) // context.DeadlineExceeded is one
	return ok && failed.Timeout()
}

// apiStatus returns the answer of the API server, if there is one. It has
// details.
func apiStatus(err error) (s metav1.Status, ok bool) {
	if found, is := errtree.Find[apierrors.APIStatus](err); is {
		s, ok = found.Status(), true
	}
	if s.Details == nil {
		s.Details = new(metav1.StatusDetails)
	}
	return s, ok
}

// notServed reports whether the router answered, rather than a resource: the
// API group is not served.
func notServed(err error) bool {
	status, answered := apiStatus(err)
	if !answered {
		return false
	}
	nameless := status.Details.Kind == "events" && status.Details.Name == ""
	return apierrors.IsNotFound(err) && (nameless || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse))
}

// explain says what to fix. The message of a refused Event may quote its note,
// so of that it names only the fields.
func explain(err error, clean func(string) string) string {
	if status, _ := apiStatus(err); len(status.Details.Causes) > 0 && apierrors.IsInvalid(err) {
		fields := make([]string, len(status.Details.Causes))
		for i, c := range status.Details.Causes {
			fields[i] = c.Field + ": " + string(c.Type)
		}
		return strings.Join(fields, ", ")
	}
	return redact.Note(err.Error(), clean)
}
