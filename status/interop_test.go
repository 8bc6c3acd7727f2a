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

// The clients of client-go are status.Clients as they are.
var (
	_ status.Client[*batchv1.Job]               = batchv1client.JobInterface(nil)
	_ status.Client[*unstructured.Unstructured] = dynamic.ResourceInterface(nil)
	_ status.Object                             = &batchv1.Job{}
	_ status.Object                             = &unstructured.Unstructured{}
)
