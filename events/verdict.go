// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events/redact"
)

// A verdict is what an answer of the API server means for a write.
type verdict uint8

const (
	stored   verdict = iota
	retry            // the server is at fault, or the way to it
	exists           // the name is taken
	vanished         // the Event to update has expired
	invalid          // never worth another attempt
	denied
	unserved // by no API group
	orphaned // the namespace is absent or terminating
)

func (v verdict) cause() cause {
	switch v {
	case denied:
		return forbidden
	case orphaned:
		return namespaceGone
	default:
		return rejected
	}
}

// judge reads the answer to a create, or to a patch.
func judge(err error, create bool) verdict {
	switch {
	case err == nil:
		return stored
	case namespaceIsGone(err):
		return orphaned
	case apierrors.IsForbidden(err):
		return denied
	case apierrors.IsAlreadyExists(err):
		return exists
	case notServed(err):
		return unserved
	case apierrors.IsNotFound(err) && !create:
		return vanished
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err), apierrors.IsRequestEntityTooLargeError(err):
		return invalid
	}
	return retry
}

// namespaceIsGone tells a namespace that is absent from an Event or a group that is, and one that is terminating from a
// missing permission.
func namespaceIsGone(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	return apierrors.IsNotFound(err) && details(err).Kind == "namespaces"
}

// notServed reports whether the router answered, rather than a resource: the API group is not served.
func notServed(err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	d := details(err)
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) || d.Kind == "events" && d.Name == ""
}

// groupRefused reports whether the other API group may take what this one did not: it is not served, or not granted.
// Authorization comes before routing, so a group that is absent answers 403 to a caller without the verb.
func groupRefused(err error) bool {
	if err == nil { // before the predicates, which allocate
		return false
	}
	return notServed(err) || apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func details(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// retryAfter is how long the server asked to be left alone; 0 when it did not.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(max(seconds, 0)) * time.Second
}

// explain says what to mend. The message of a refused Event may quote its note, so of that only the fields are named.
func explain(err error, clean func(string) string) string {
	if err == nil {
		return ""
	}
	if causes := details(err).Causes; apierrors.IsInvalid(err) && len(causes) > 0 {
		fields := make([]string, len(causes))
		for i, c := range causes {
			fields[i] = c.Field + ": " + string(c.Type)
		}
		return strings.Join(fields, ", ")
	}
	return redact.Note(err.Error(), clean)
}
