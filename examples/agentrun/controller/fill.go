// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// fill waits until the caches of s are filled, and reports whether they are.
func (s *scope) fill(ctx context.Context) bool {
	if !cache.WaitForCacheSync(ctx.Done(), s.runs.HasSynced, s.jobs.HasSynced) {
		return false
	}
	close(s.filled)
	return true
}

// logUnfilled logs every ten seconds, until ctx ends, why the caches of s are
// still empty, because informers retry without an error if no server answers.
func (c *Controller) logUnfilled(ctx context.Context, s *scope) {
	_ = wait.PollUntilContextCancel(ctx, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		one := metav1.ListOptions{Limit: 1, TimeoutSeconds: new(int64(5))}
		_, err := c.runs(s.namespace).List(ctx, one)
		if err == nil {
			_, err = c.cluster.BatchV1().Jobs(s.namespace).List(ctx, one)
		}
		if err != nil && ctx.Err() == nil {
			log := logr.FromContextOrDiscard(ctx).WithValues("namespace", s.namespace)
			log.Error(errors.New(c.public(err.Error())), "Cannot fill the caches, retrying")
		}
		return false, nil
	})
}
