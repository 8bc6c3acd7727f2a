// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notfound tells an API server's word about one object, that it does
// not exist or has changed, from every other 404 and 409.
package notfound

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Is reports whether err says that the object of that name does not exist, and
// otherwise returns err, wrapped if it is a 404 about something else. The zero
// GroupResource is any: not every caller knows it. An API server names the
// resource and the object in the details of its answer, as client-go's and
// controller-runtime's fakes do (NewNotFound in apimachinery/pkg/api/errors); a
// lister and controller-runtime's cache put a kind there.
//
// A 404 that no API server wrote has the details of the request, which
// client-go fills in, and a cause that says so: that of a proxy, or of a path
// which is not served (NewGenericServerResponse).
func Is(err error, of schema.GroupResource, name string) (bool, error) {
	if !apierrors.IsNotFound(err) {
		return false, err
	}
	var details metav1.StatusDetails
	if s := apierrors.APIStatus(nil); errors.As(err, &s) && s.Status().Details != nil {
		details = *s.Status().Details
	}
	got := schema.GroupResource{Group: details.Group, Resource: details.Kind}
	want := strings.TrimSpace(fmt.Sprintf("%s %q", of, name))
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return false, fmt.Errorf("a 404 that no API server wrote about %s: %w", want, err)
	case details.Name == "" && got.Empty():
		return false, fmt.Errorf("a 404 that does not say what it is about, want %s: %w", want, err)
	case !of.Empty() && got != of || details.Name != name:
		return false, fmt.Errorf("a 404 about %s %q, want %s: %w", got, details.Name, want, err)
	}
	return true, nil
}
