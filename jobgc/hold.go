// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// checkHold refuses what the API server would refuse in a Job's finalizers (ValidateFinalizerName in
// k8s.io/kubernetes/pkg/apis/core/validation), and the finalizers of Kubernetes itself, which have no domain.
func checkHold(name string) error {
	if name == "" {
		return nil
	}
	if len(validation.IsQualifiedName(name)) > 0 || !strings.Contains(name, "/") {
		return fmt.Errorf("jobgc: new: options.hold: %q is not accepted; want a domain and a name, such as agents.example.com/result", name)
	}
	return nil
}

// held reports whether a Job carries the finalizer of Options.Hold.
func (g *Guard[J]) held(job *batchv1.Job) bool {
	return job != nil && slices.Contains(job.Finalizers, g.opts.Hold) // no finalizer is the empty one
}

// unhold takes the hold off a Job that carries it. The element is tested first, for other finalizers come and go and move it.
// It is part of a patch and never an update: writing back a whole Job that is stale, or that this client knows only in part,
// changes fields that may not change, and is refused each time.
func (g *Guard[J]) unhold(job *batchv1.Job) []operation {
	if !g.held(job) {
		return nil
	}
	path := "/metadata/finalizers/" + strconv.Itoa(slices.Index(job.Finalizers, g.opts.Hold))
	return []operation{{Op: "test", Path: path, Value: g.opts.Hold}, {Op: "remove", Path: path}}
}
