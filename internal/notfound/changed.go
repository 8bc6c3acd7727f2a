// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package notfound

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Changed reports whether an API server refused a deletion because the object
// of that name does not meet its preconditions. The conflict of a proxy has a
// cause, the 404 of a webhook has no name, and both must be reported.
func Changed(err error, name string) bool {
	if !apierrors.IsConflict(err) {
		return false
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return false // no API server wrote it
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Name == name
}
