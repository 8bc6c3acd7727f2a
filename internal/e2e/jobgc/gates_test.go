// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// TestGateTTLZero looks at Jobs from their creation until their TTL of 0 has
// deleted them. No Job is called missing, no result is lost, and no Job is read
// live more than once: when the cache has dropped it, and its event is on the
// way.
//
//req:shows J4
func TestGateTTLZero(t *testing.T) {
	t.Parallel()
	n, s := jobsOf(t, 40), newStage(t)
	c := s.controller(t, jobgc.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	untilDeleted := func(ref jobgc.Ref) (f jobgc.Observation, err error) {
		for err == nil && !f.Lost() && f.Source != "Tombstone" {
			if f, err = c.decided(ctx, ref); err == nil {
				err = ctx.Err()
			}
			suite.Wait(ctx, 50*time.Millisecond)
		}
		return f, err
	}
	found, errs := make([]jobgc.Observation, n), make([]error, n)
	workqueue.ParallelizeUntil(ctx, 40, n, func(i int) {
		job, err := s.jobs.Create(ctx, s.job(fmt.Sprintf("job-%d", i), ttl(0), func(j *batchv1.Job) {
			j.Annotations = map[string]string{"jobgc.controllerkit.dev/retention": "keep"} // as Step creates it
		}), metav1.CreateOptions{})
		if errs[i] = err; err == nil {
			found[i], errs[i] = untilDeleted(jobgc.Ref{Namespace: s.Namespace, Name: job.Name, UID: job.UID, CreatedAt: &job.CreationTimestamp})
		}
	})
	require.NoError(t, errors.Join(errs...))
	lost := 0
	for _, f := range found {
		if f.Outcome != jobgc.Succeeded {
			lost++
		}
	}
	t.Logf("gate: TTL 0, read from the creation until the deletion, of %d Jobs lost: %d with %d GETs", n, lost, c.gets.Load())
	assert.Zero(t, lost)
	assert.LessOrEqual(t, c.gets.Load(), int64(n), "what the informer brought is enough")
}
