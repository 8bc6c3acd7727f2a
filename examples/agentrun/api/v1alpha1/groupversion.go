// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the AgentRun, the example's resource.
//
// +kubebuilder:object:generate=true
// +groupName=agents.controllerkit.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go tool -modfile=../../../../internal/tools/go.mod controller-gen object:headerFile=header.txt crd:headerFile=yamlheader.txt paths=. output:crd:dir=../../crd

// GroupVersion of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "agents.controllerkit.dev", Version: "v1alpha1"}
}

// AddToScheme registers the types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &AgentRun{}, &AgentRunList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
