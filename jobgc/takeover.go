// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
)

// checkName returns an error for a Request.Name that no Job can have.
func checkName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(problems) == 0 && len(name) <= validation.LabelValueMaxLength {
		return nil
	}
	return fmt.Errorf("Request.Name is %q; want at most 63 lower-case letters, digits, '-' and '.', "+
		"with a letter or a digit at each end and at each dot, such as nightly-1", name)
}

// takes reports whether a Job of this owner is taken over by its name: Step did
// not create it, so it lacks what Step gives to each Job.
func (v view) takes(job *batchv1.Job) bool {
	if job == nil || !v.named || v.ended {
		return false
	}
	return job.Annotations[annotation] == "" && job.DeletionTimestamp == nil
}

// takeOver gives a Job what Step gives to each Job that it creates: the
// annotations, the TTL until its outcome is recorded, and the finalizer. If a
// policy refuses that, it returns the Job as it is.
func (g *Guard[J]) takeOver(ctx context.Context, v view, ref Ref, job *batchv1.Job) (*batchv1.Job, error) {
	var refused error
	for range 3 {
		marked, err := g.patch(ctx, ref, v.marks(job))
		switch {
		case err == nil && marked == nil:
			return nil, fmt.Errorf("the Job %s/%s was deleted in the meantime", ref.Namespace, ref.Name)
		case err == nil:
			return marked, nil
		case apierrors.IsForbidden(err) || apierrors.IsBadRequest(err):
			return job, nil
		case !apierrors.IsInvalid(err): // 422 may be a failed test of the patch
			return nil, err
		}
		refused = err
		now, err := g.readLive(ctx, ref)
		switch {
		case err != nil:
			return nil, err
		case now.gone():
			return nil, fmt.Errorf("the Job %s/%s was deleted in the meantime", ref.Namespace, ref.Name)
		case now.Job.ResourceVersion == job.ResourceVersion:
			return job, nil
		case !v.takes(now.Job): // another replica took it over
			return now.Job, nil
		}
		job = now.Job
	}
	return nil, refused
}

// marks is the patch of takeOver. The test of the version lets it set whole
// maps and lists.
func (v view) marks(job *batchv1.Job) []operation {
	notes := maps.Clone(job.Annotations)
	if notes == nil {
		notes = map[string]string{}
	}
	has := job.Spec.TTLSecondsAfterFinished
	notes[annotation] = v.retention.text()
	if has != nil {
		notes[askedAnnotation] = strconv.Itoa(int(*has))
	}
	ops := []operation{
		{Op: "test", Path: "/metadata/uid", Value: job.UID},
		{Op: "test", Path: "/metadata/resourceVersion", Value: job.ResourceVersion},
		{Op: "add", Path: "/metadata/annotations", Value: notes},
	}
	if v.raises(job) {
		ttl := v.retention.atCreation(has)
		ops = append(ops, operation{Op: "add", Path: "/spec/ttlSecondsAfterFinished", Value: ttl})
	}
	if v.finalizer != "" && !hasFinalizer(job, v.finalizer) {
		keepers := append(slices.Clone(job.Finalizers), v.finalizer)
		ops = append(ops, operation{Op: "add", Path: "/metadata/finalizers", Value: keepers})
	}
	return ops
}
