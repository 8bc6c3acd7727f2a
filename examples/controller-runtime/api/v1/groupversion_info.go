// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the Task, the resource of this example.
//
// +kubebuilder:object:generate=true
// +groupName=tasks.controllerkit.dev
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go tool -modfile=../../../../internal/tools/go.mod controller-gen object:headerFile=header.txt paths=.

// GroupVersion of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "tasks.controllerkit.dev", Version: "v1"}
}

// AddToScheme registers the types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &Task{}, &TaskList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
