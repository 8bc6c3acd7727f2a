// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// agentRun is an owner, as stored and as a copy of it.
type agentRun struct {
	metav1.ObjectMeta

	job  *jobgc.Ref
	done bool
}

func newAgentRun() *agentRun {
	return &agentRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "run-uid"}}
}

const jobOfRun = "run-run-uid"

// stage is a world with a stored owner.
type stage struct {
	*world
	stored *agentRun // nil: it is gone
	reads  int
	edit   func(*jobgc.Request)
}

func newStage(t *testing.T, opts jobgc.Options) *stage {
	t.Helper()
	return &stage{world: newWorld(t, opts), stored: newAgentRun()}
}

func (s *stage) request(run *agentRun) jobgc.Request {
	req := jobgc.Request{
		Owner: run, Ref: run.job, Done: run.done,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			s.reads++
			if s.stored == nil {
				return nil, nil, false, notFoundOf("agents.example.com", "agentruns", "run")
			}
			return s.stored, s.stored.job, s.stored.done, nil
		},
		Job: func() (*batchv1.Job, error) {
			job := ownedJob()
			job.Name = ""
			return job, nil
		},
	}
	if s.edit != nil {
		s.edit(&req)
	}
	return req
}

// step is a reconcile with the stored owner as the caller's copy; the caller
// writes the status.
func (s *stage) step(t *testing.T) jobgc.Observation {
	t.Helper()
	ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	s.stored.job = ref
	s.stored.done = s.stored.done || found.Outcome != "" || found.Lost() || found.State == jobgc.Cancelled
	return found
}

// requests counts creations, reads, patches, deletions, and reads of the owner.
func (s *stage) requests() []int { return []int{s.creates, s.gets, s.patches, s.removes, s.reads} }
