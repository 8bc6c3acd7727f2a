// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conflict finds errors that only say that another writer was faster,
// and hide no other failure.
package conflict

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Only reports whether err is a conflict, wrapped or not. Of joined errors,
// each must be a conflict. A conflict comes from the API server, or is an error
// whose Reason method returns Conflict, such as the errors of package status.
func Only(err error) bool {
	if isnil.Is(err) {
		return false
	}
	if own, ok := err.(interface{ Reason() string }); ok && own.Reason() == string(metav1.StatusReasonConflict) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree counts
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if one != nil && !Only(one) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return Only(e.Unwrap())
	}
	api, ok := err.(apierrors.APIStatus)
	return ok && api.Status().Reason == metav1.StatusReasonConflict
}
