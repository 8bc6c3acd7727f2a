// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The answers of an API server to a write of an Event.

var eventsResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

func tooManyRequests(retryAfter int) error {
	err := apierrors.NewTooManyRequests("too many requests", retryAfter)
	if retryAfter == 0 {
		err.ErrStatus.Details = nil
	}
	return err
}

func unavailable() error { return apierrors.NewServiceUnavailable("overloaded") }

func rejected() *apierrors.StatusError {
	return apierrors.NewInvalid(schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}, "a.1",
		field.ErrorList{field.TooLong(field.NewPath("note"), "", 1024)})
}

func notGranted() error {
	return apierrors.NewForbidden(eventsResource, "", nil)
}

func groupAbsent() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "POST", eventsResource, "", "404 page not found", 0, true)
}

func namespaceAbsent() error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "runs")
}

func namespaceTerminating() error {
	err := apierrors.NewForbidden(eventsResource, "a.1", nil)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "namespace runs is being terminated"}}
	return err
}

func expired(name string) error { return apierrors.NewNotFound(eventsResource, name) }

func taken(name string) error { return apierrors.NewAlreadyExists(eventsResource, name) }
