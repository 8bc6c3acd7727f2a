// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// verdict is what a rule says about a Job.
type verdict struct {
	missing   bool
	succeeded bool
}

// rule decides whether a Job that was created is missing.
type rule struct {
	name string
	look func(ctx context.Context, w *world, ref jobgc.Ref) (verdict, error)
}

// The peers' names in the table: what controllers do, each with the systems
// that do it.
const (
	plainLister = "lister"                     // argo-rollouts' job metric, tekton
	secondLook  = "lister, again after 100 ms" // services that have been bitten
	liveRead    = "lister, then live GET"      // Kubernetes' own TTL controller, before it deletes
)

// ours asks again when Step says so, like a controller that has nothing to
// change until then.
var ours = rule{"ours", func(ctx context.Context, w *world, ref jobgc.Ref) (verdict, error) {
	for {
		f, err := look(ctx, w.guard, ref)
		if err != nil || f.State != jobgc.Pending {
			return verdict{f.State == jobgc.Missing, f.Outcome == jobgc.Succeeded}, err
		}
		if err := ctx.Err(); err != nil {
			return verdict{}, fmt.Errorf("the Job is still pending: %w", err)
		}
		pass(f.After)
	}
}}

var (
	byLister = rule{plainLister, func(_ context.Context, w *world, ref jobgc.Ref) (verdict, error) {
		return judge(w.lister.Get(ref.Name))
	}}
	again = rule{secondLook, func(_ context.Context, w *world, ref jobgc.Ref) (verdict, error) {
		v, err := judge(w.lister.Get(ref.Name))
		if err != nil || !v.missing {
			return v, err
		}
		pass(100 * time.Millisecond)
		return judge(w.lister.Get(ref.Name))
	}}
	live = rule{liveRead, func(ctx context.Context, w *world, ref jobgc.Ref) (verdict, error) {
		v, err := judge(w.lister.Get(ref.Name))
		if err != nil || !v.missing {
			return v, err
		}
		return judge(w.server.Get(ctx, ref.Name, metav1.GetOptions{}))
	}}

	rules = []rule{ours, byLister, again, live}
)

// judge is what all of them do with the answer.
func judge(job *batchv1.Job, err error) (verdict, error) {
	if apierrors.IsNotFound(err) {
		return verdict{missing: true}, nil
	}
	if err != nil {
		return verdict{}, err
	}
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == "True" {
			return verdict{succeeded: true}, nil
		}
	}
	return verdict{}, nil
}
