// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizer checks the names of custom finalizers and builds the patch
// that removes one.
package finalizer

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Operation is one operation of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// IsName reports whether the API server accepts name in metadata.finalizers
// (ValidateFinalizerName in k8s.io/kubernetes/pkg/apis/core/validation). The
// finalizers of Kubernetes itself, which have no domain, are refused.
func IsName(name string) bool {
	return len(validation.IsQualifiedName(name)) == 0 && strings.Contains(name, "/")
}

// Removal returns the operations that remove name from the finalizers of an
// object as it was read, or nil if it does not have it. They test the element
// first, because its index changes when other finalizers are added or removed.
//
// An update would write back a whole object that is stale, or that its client
// knows only in part.
func Removal(finalizers []string, name string) []Operation {
	i := slices.Index(finalizers, name)
	if i < 0 {
		return nil
	}
	path := "/metadata/finalizers/" + strconv.Itoa(i)
	return []Operation{{Op: "test", Path: path, Value: name}, {Op: "remove", Path: path}}
}
