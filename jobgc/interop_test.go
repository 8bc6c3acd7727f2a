// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// The types of client-go fit.
var _ = func(c batchv1client.BatchV1Interface, i cache.SharedIndexInformer) (*jobgc.Guard[batchv1client.JobInterface], error) {
	return jobgc.New(c.Jobs, i, jobgc.Options{})
}
