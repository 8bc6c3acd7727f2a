// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compat_test holds what is true of the packages together with other
// versions of the modules they use. The folders next to it are modules that
// test the packages with other versions than go.mod's.
package compat_test

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/proompteng/controllerkit/status"
)

// The clients of client-go fit status without an adapter, and Go infers the
// types. This is not a test of status itself: go mod tidy of a module that
// imports status would then need client-go, and a module of API types has none.
var (
	_ = func(c batchv1client.BatchV1Interface) status.Writer { return status.ForResource(c.Jobs) }
	_ = func(c dynamic.Interface, r schema.GroupVersionResource) status.Writer {
		return status.ForResource(c.Resource(r).Namespace)
	}
	_ status.Object = &batchv1.Job{}
	_ status.Object = &unstructured.Unstructured{}
)
