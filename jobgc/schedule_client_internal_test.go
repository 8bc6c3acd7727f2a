// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// simulated is the Job client of a replica. Each call is a request.
type simulated struct{ r *replica }

func (c simulated) Create(ctx context.Context, job *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	owner := metav1.GetControllerOfNoCopy(job).UID
	if c.r.sawEnd[owner] && c.r.sim.bug == noBug {
		c.r.sim.breaks("created again: %s, whose Job this process saw finish", owner)
	}
	return ask(c.r, func(s *apiServer) (*batchv1.Job, error) {
		// When the caller gives up, the server gives up the webhook's call, and
		// creates nothing.
		s.now = s.now.Add(c.r.sim.admission)
		if until, ok := ctx.Deadline(); ok && s.now.After(until) {
			return nil, context.DeadlineExceeded
		}
		live, err := s.createJob(job, c.r.sim.retention.atCreation(nil))
		return live.DeepCopy(), err
	})
}

func (c simulated) Get(_ context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	return ask(c.r, func(s *apiServer) (*batchv1.Job, error) {
		if s.jobs[name] == nil {
			return nil, apierrors.NewNotFound(resourceOfJobs, name)
		}
		return s.jobs[name].DeepCopy(), nil
	})
}

func (c simulated) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*batchv1.Job, error) {
	return ask(c.r, func(s *apiServer) (*batchv1.Job, error) {
		job, err := s.patchJob(name, data)
		return job.DeepCopy(), err
	})
}

func (c simulated) Delete(_ context.Context, name string, opts metav1.DeleteOptions) error {
	_, err := ask(c.r, func(s *apiServer) (struct{}, error) {
		return struct{}{}, s.removeJob(name, *opts.Preconditions.UID)
	})
	return err
}
