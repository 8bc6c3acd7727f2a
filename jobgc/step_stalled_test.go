// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// A replica stalls between the read of the owner and the creation, until a
// second replica has taken the run to its end and released its Job.
func TestStepOfAReplicaThatStalls(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		ttl    int32
		stall  time.Duration
		jobs   int
		fails  bool
	}{
		"Long":     {"The name is still taken: the Job is adopted.", 90, 59 * time.Second, 1, false},
		"LongLate": {"The creation is given up.", 90, 60 * time.Second, 1, true},
		"ZeroLate": {"The creation is given up.", 0, 60 * time.Second, 1, true},
		"Zero":     {"The documented gap: with a final TTL below 90 seconds the name may be free within these seconds.", 0, 59 * time.Second, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				s.edit = func(req *jobgc.Request) {
					req.Job = func() (*batchv1.Job, error) {
						job := ownedJob()
						job.Name, job.Spec.TTLSecondsAfterFinished = jobOfRun, &tc.ttl
						return job, nil
					}
				}
				stalled := s.request(newAgentRun())
				stalled.Stored = func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
					s.step(t)
					s.change(jobOfRun, finish(time.Now()))
					s.store.sync(s.server)
					s.step(t)
					s.step(t)
					require.Equal(t, tc.ttl, *s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished)
					return newAgentRun(), nil, false, nil // as before the first step
				}
				replica, err := jobgc.NewUncached(func(ns string) fakeJobs {
					time.Sleep(tc.stall)
					if tc.ttl == 0 {
						s.remove(jobOfRun)
					}
					return s.client(ns)
				}, jobgc.Options{})
				require.NoError(t, err)
				_, _, err = replica.Step(t.Context(), stalled)
				assert.Equal(t, tc.fails, err != nil, "%s %v", tc.reason, err)
				uids := map[string]bool{string(s.stored.job.UID): true}
				if job := s.jobs[jobOfRun]; job != nil {
					uids[string(job.UID)] = true
					if tc.jobs == 1 {
						assert.Equal(t, tc.ttl, *job.Spec.TTLSecondsAfterFinished, "adopted, it stays released")
					}
				}
				assert.Len(t, uids, tc.jobs, tc.reason)
			})
		})
	}
}

// deletingOwner has a finished Job, and waits for its result with a finalizer
// of its own.
func deletingOwner(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, jobgc.Options{Finalizer: "agents.example.com/result"})
	s.step(t)
	s.store.sync(s.server)
	s.stored.DeletionTimestamp = ptr.To(metav1.Now())
	s.stored.Finalizers = []string{"example.com/waits"}
	s.change(jobOfRun, finish(time.Now()))
	s.store.sync(s.server)
	return s
}

func TestStep_DeletingOwnerGetsTheOutcome(t *testing.T) {
	s := deletingOwner(t)
	ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	assert.Equal(t, jobgc.Finished, found.State)
	assert.Equal(t, jobgc.Succeeded, ref.Outcome)
}

func TestStep_DeletingOwnerIsToldOfNoLoss(t *testing.T) {
	s := deletingOwner(t)
	require.Equal(t, jobgc.Finished, s.step(t).State) // stores the Ref, and Done
	s.step(t)                                         // the release
	s.remove(jobOfRun)
	s.store.sync(s.server)
	found := s.step(t)
	assert.False(t, found.Lost(), "%+v", found)
}

// TestStep_DeletingOwnerLetsGo: of an owner whose record is the Ref alone, such
// as a ConfigMap with an annotation.
func TestStep_DeletingOwnerLetsGo(t *testing.T) {
	s := deletingOwner(t)
	for range 5 {
		ref, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.NoError(t, err)
		s.stored.job, s.stored.done = ref, ref.Outcome != ""
		s.store.sync(s.server)
	}
	assert.Empty(t, s.jobs[jobOfRun].Finalizers, "%+v", s.stored.job)
}
