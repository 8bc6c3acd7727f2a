// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/proompteng/controllerkit/jobgc/internal/finalizer"
)

// hasFinalizer reports whether a Job carries a finalizer. Without a name it
// does not.
func hasFinalizer(job *batchv1.Job, name string) bool {
	return job != nil && name != "" && slices.Contains(job.Finalizers, name)
}

// unhold returns the operations that remove the finalizer from a Job that
// carries it.
func (g *Guard[J]) unhold(job *batchv1.Job) []operation {
	if !hasFinalizer(job, g.opts.Finalizer) {
		return nil
	}
	return finalizer.Removal(job.Finalizers, g.opts.Finalizer)
}
