// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// OnAdd, OnUpdate and OnDelete are what an informer calls on the handler that
// New registers.
func (g *Guard) OnAdd(obj any, initial bool) { handler{g}.OnAdd(obj, initial) }

// OnUpdate is one of them.
func (g *Guard) OnUpdate(before, after any) { handler{g}.OnUpdate(before, after) }

// OnDelete is one of them.
func (g *Guard) OnDelete(obj any) { handler{g}.OnDelete(obj) }

// Final is the TTL of a finished Job whose outcome is recorded.
func (r Retention) Final(job *batchv1.Job, f Observation, now time.Time) *int32 {
	return r.final(askedTTL(job), f, now)
}

// AtCreation is the TTL of a Job whose outcome is not recorded.
func (r Retention) AtCreation(asked *int32) *int32 { return r.atCreation(asked) }

// Text is the annotation.
func (r Retention) Text() string { return r.text() }

// Remember makes the Guard forget all Jobs, and remember fewer of them.
func (g *Guard) Remember(limit int) { g.memory = newMemory(limit) }
