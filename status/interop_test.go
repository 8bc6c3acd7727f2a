// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/proompteng/controllerkit/status"
)

// The Patch methods of client-go's clients fit as they are.
var (
	_               = func(c batchv1client.JobInterface) status.PatchFunc[*batchv1.Job] { return c.Patch }
	_               = func(c dynamic.ResourceInterface) status.PatchFunc[*unstructured.Unstructured] { return c.Patch }
	_ status.Object = &batchv1.Job{}
	_ status.Object = &unstructured.Unstructured{}
)
