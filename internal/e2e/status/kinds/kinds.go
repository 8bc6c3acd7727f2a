// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds has a kind under the status contract, with the deep copies and
// the CRD from controller-gen.
//
// +kubebuilder:object:generate=true
// +groupName=status.e2e.controllerkit.dev
// +versionName=v1
package kinds

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=header.txt crd paths=. output:crd:dir=.

// GroupVersion of the kinds in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "status.e2e.controllerkit.dev", Version: "v1"}
}

// AddToScheme registers the kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &Probe{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
