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
// cause, that of a webhook has no name, and both must be reported.
func Changed(err error, name string) bool {
	s := apierrors.APIStatus(nil)
	return apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		errors.As(err, &s) && s.Status().Details != nil && s.Status().Details.Name == name
}
