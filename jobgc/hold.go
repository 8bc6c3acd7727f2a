// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// isFinalizer refuses what the API server would refuse in a Job's finalizers
// (ValidateFinalizerName in k8s.io/kubernetes/pkg/apis/core/validation), and
// the finalizers of Kubernetes itself, which have no domain.
func isFinalizer(name string) bool {
	return len(validation.IsQualifiedName(name)) == 0 && strings.Contains(name, "/")
}

// hasFinalizer reports whether a Job carries a finalizer. Without a name it
// does not.
func hasFinalizer(job *batchv1.Job, name string) bool {
	return job != nil && name != "" && slices.Contains(job.Finalizers, name)
}

// unhold returns the operations that remove the finalizer from a Job that
// carries it. They test the element first, because its index changes when other
// finalizers are added or removed. They are part of a patch and never an
// update. An update would write back a whole Job that is stale, or that this
// client knows only in part. It would change immutable fields, and the API
// server would refuse it each time.
func (g *Guard[J]) unhold(job *batchv1.Job) []operation {
	if !hasFinalizer(job, g.opts.Finalizer) {
		return nil
	}
	path := "/metadata/finalizers/" + strconv.Itoa(slices.Index(job.Finalizers, g.opts.Finalizer))
	return []operation{{Op: "test", Path: path, Value: g.opts.Finalizer}, {Op: "remove", Path: path}}
}
