// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patch changes this very Job, and not a successor of its name. It returns nil
// if the Job is gone.
func (g *Guard) patch(ctx context.Context, job *batchv1.Job, ops []operation) (*batchv1.Job, error) {
	jobs, err := g.jobsIn(job.Namespace)
	if err != nil {
		return nil, err
	}
	isTheSame := operation{Op: "test", Path: "/metadata/uid", Value: job.UID}
	data, err := json.Marshal(append([]operation{isTheSame}, ops...))
	if err != nil {
		return nil, err
	}
	ref := Ref{Namespace: job.Namespace, Name: job.Name}
	after, err := jobs.Patch(ctx, job.Name, types.JSONPatchType, data, metav1.PatchOptions{})
	wasGone, err := isGone(err, ref)
	if wasGone {
		return nil, nil //nolint:nilnil // the answer is that there is none
	}
	if err == nil {
		err = checkJob(after, ref)
	}
	if err != nil {
		return nil, fmt.Errorf("patch %s/%s: %w", job.Namespace, job.Name, err)
	}
	return after, nil
}

// noteAsked notes the TTL of a Job that loses it, in the annotation that the
// release reads.
func noteAsked(job *batchv1.Job) []operation {
	if askedTTL(job) != nil {
		return nil
	}
	asked := strconv.Itoa(int(*job.Spec.TTLSecondsAfterFinished))
	if len(job.Annotations) == 0 {
		return []operation{
			{Op: "test", Path: "/metadata/annotations", Value: json.RawMessage("null")},
			{Op: "add", Path: "/metadata/annotations", Value: map[string]string{askedAnnotation: asked}},
		}
	}
	path := "/metadata/annotations/" + strings.ReplaceAll(askedAnnotation, "/", "~1")
	return []operation{{Op: "add", Path: path, Value: asked}}
}

// hold returns the operations that add a finalizer to a Job; nil if it has it,
// or if the name is empty. They test that the finalizers are as they were read:
// a Job without any passes the test for null.
func hold(job *batchv1.Job, name string) []operation {
	if name == "" || slices.Contains(job.Finalizers, name) {
		return nil
	}
	return []operation{
		{Op: "test", Path: "/metadata/finalizers", Value: job.Finalizers},
		{Op: "add", Path: "/metadata/finalizers", Value: append(slices.Clone(job.Finalizers), name)},
	}
}

// unhold returns the operations that remove a finalizer from a Job; nil if it
// does not have it. They test the element first, because its index changes when
// other finalizers are added or removed.
func unhold(job *batchv1.Job, name string) []operation {
	i := slices.Index(job.Finalizers, name)
	if i < 0 {
		return nil
	}
	path := "/metadata/finalizers/" + strconv.Itoa(i)
	return []operation{{Op: "test", Path: path, Value: name}, {Op: "remove", Path: path}}
}
