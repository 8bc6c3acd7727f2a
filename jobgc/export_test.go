// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Final is the TTL of a finished Job whose outcome is recorded.
func (r Retention) Final(job *batchv1.Job, f Observation, now time.Time) *int32 {
	return r.final(askedTTL(job), f, now)
}

// Remembered counts what the Guard remembers.
func (g *Guard) Remembered() int { return len(g.refs.entries) + len(g.released.entries) }

// ReleaseOrphans is one sweep.
func (g *Guard) ReleaseOrphans(ctx context.Context, cached, stored ownerReader) (int, error) {
	return g.releaseOrphans(ctx, cached, stored)
}
