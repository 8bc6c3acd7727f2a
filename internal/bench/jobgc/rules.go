// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// rule decides whether a Job that was created is missing.
type rule struct {
	name string
	look func(ctx context.Context, w *world, ref jobgc.Ref) (missing bool, err error)
}

// The peers' names in the table: what controllers do, each with the systems
// that do it.
const (
	plainLister = "lister"                // argo-rollouts' job metric, tekton
	liveRead    = "lister, then live GET" // Kubernetes' own TTL controller, before it deletes
)

// ours asks again when Step asks for it, like a controller that has nothing to
// change until then.
var ours = rule{"ours", func(ctx context.Context, w *world, ref jobgc.Ref) (bool, error) {
	for {
		f, err := look(ctx, w.guard, ref)
		if err != nil || f.State != jobgc.Pending {
			return f.State == jobgc.Missing, err
		}
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("the Job is still pending: %w", err)
		}
		pass(f.After)
	}
}}

var (
	byLister = rule{plainLister, func(_ context.Context, w *world, ref jobgc.Ref) (bool, error) {
		_, err := w.lister.Get(ref.Name)
		return isMissing(err)
	}}
	live = rule{liveRead, func(ctx context.Context, w *world, ref jobgc.Ref) (bool, error) {
		_, err := w.lister.Get(ref.Name)
		missing, err := isMissing(err)
		if err != nil || !missing {
			return false, err
		}
		_, err = w.kube.BatchV1().Jobs(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		return isMissing(err)
	}}

	rules = []rule{ours, byLister, live}
)

// isMissing reads the answer as the two rules do.
func isMissing(err error) (missing bool, failed error) {
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
