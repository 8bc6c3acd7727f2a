// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"k8s.io/client-go/informers"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// The types of client-go fit, as in the documentation of New.
var _ = func(c batchv1client.BatchV1Interface, factory informers.SharedInformerFactory) (*jobgc.Guard, error) {
	return jobgc.New(c.Jobs, jobgc.FromLister(factory.Batch().V1().Jobs().Lister()), jobgc.Options{})
}
