// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/informers"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// The types of client-go fit, as in the documentation of New.
var _ = func(c batchv1client.BatchV1Interface, factory informers.SharedInformerFactory) (*jobgc.Guard, error) {
	jobs := factory.Batch().V1().Jobs()
	cached := func(_ context.Context, namespace, name string) (*batchv1.Job, error) {
		return jobs.Lister().Jobs(namespace).Get(name)
	}
	return jobgc.New(c.Jobs, cached, jobs.Informer(), jobgc.Options{})
}
