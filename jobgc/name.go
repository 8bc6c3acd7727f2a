// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// nameFor is the name of the Job of an owner that names none.
func nameFor(owner types.UID) string { return "run-" + string(owner) }

// nameOf is the namespace and the name of an object.
func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// checkName returns an error for a Request.Name that no Job can have.
func checkName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(problems) == 0 && len(name) <= validation.LabelValueMaxLength {
		return nil
	}
	return fmt.Errorf("Request.Name is %q; want at most 63 lower-case letters, digits, '-' and '.', "+
		"with a letter or a digit at each end and at each dot, such as nightly-1", name)
}
