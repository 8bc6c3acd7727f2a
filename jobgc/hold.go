// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// hasFinalizer reports whether a Job carries a finalizer. Without a name it
// does not.
func hasFinalizer(job *batchv1.Job, name string) bool {
	return job != nil && name != "" && slices.Contains(job.Finalizers, name)
}
