// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

type eventHandler interface {
	OnAdd(obj any, initial bool)
	OnUpdate(before, after any)
	OnDelete(obj any)
}

// informerOfSeveral is an informer over several namespaces: it has no store.
type informerOfSeveral struct {
	handlers []eventHandler
	synced   bool // the handlers have received the first list
}

func (s *informerOfSeveral) AddEventHandler(h eventHandler) (any, error) {
	s.handlers = append(s.handlers, h)
	return s, nil
}

func (s *informerOfSeveral) HasSynced() bool { return s.synced }

// The informer calls the handlers concurrently: the one that enqueues the run
// may be ahead of the Guard's.
func TestLate_ReconcileAheadOfTheGuardsHandler(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour}})
	informer := &informerOfSeveral{synced: true}
	g, err := jobgc.New(s.client, informer, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour}})
	require.NoError(t, err)
	s.guard = g
	s.step(t)
	informer.handlers[0].OnAdd(s.jobs[jobOfRun].DeepCopy(), false)
	s.step(t)
	before := s.jobs[jobOfRun].DeepCopy()
	s.change(jobOfRun, finish(time.Now()))
	found := s.step(t) // the reconcile of that event
	informer.handlers[0].OnUpdate(before, s.jobs[jobOfRun].DeepCopy())
	assert.Positive(t, found.After, "%s: and no event follows", found.State)
}

// After a restart, between the record and the release.
func TestLate_ReconcileOfAnEndedRunAheadOfTheGuardsHandler(t *testing.T) {
	s := newStage(t, jobgc.Options{Finalizer: "agents.example.com/result"})
	s.step(t)
	s.change(jobOfRun, finish(time.Now()))
	s.stored.done = true
	s.stored.job.Outcome = jobgc.Succeeded
	informer := &informerOfSeveral{}
	g, err := jobgc.New(s.client, informer, jobgc.Options{Finalizer: "agents.example.com/result"})
	require.NoError(t, err)
	s.guard = g
	found := s.step(t) // the reconcile of the Job's first event
	informer.handlers[0].OnAdd(s.jobs[jobOfRun].DeepCopy(), true)
	informer.synced = true
	if found.After > 0 {
		s.step(t)
	}
	assert.Empty(t, s.jobs[jobOfRun].Finalizers, "%+v", found)
	informer.handlers[0].OnDelete(s.remove(jobOfRun))
	assert.Zero(t, s.step(t).After, "its Job is gone, and the Guard would know of another event")
}

// Each of 2,000 ended runs whose Jobs are gone is reconciled after a restart.
// Meanwhile the Job of another run finishes and is gone, and its delete event
// is a moment late.
func TestLate_ManyEndedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		informer := &informerOfSeveral{synced: true}
		g, err := jobgc.New(s.client, informer, jobgc.Options{})
		require.NoError(t, err)
		s.guard = g
		s.step(t)
		informer.synced = false
		informer.handlers[0].OnAdd(s.jobs[jobOfRun].DeepCopy(), true)
		for i := range 2000 {
			old := newAgentRun()
			old.Name, old.UID, old.done = fmt.Sprint("old", i), types.UID(fmt.Sprint("old", i)), true
			old.job = &jobgc.Ref{Namespace: "ns", Name: fmt.Sprint("run-old", i), UID: types.UID(fmt.Sprint("job", i)), ResourceVersion: "1", Outcome: jobgc.Succeeded}
			_, found, err := g.Step(t.Context(), s.request(old))
			require.NoError(t, err)
			require.Equal(t, jobgc.Collected, found.State)
			require.Positive(t, found.After, "the Guard's handler may lack its Job")
		}
		s.change(jobOfRun, finish(time.Now()))
		last := s.remove(jobOfRun)
		informer.handlers[0].OnDelete(&batchv1.Job{ObjectMeta: last.ObjectMeta}) // of an older copy
		found := s.step(t)
		assert.False(t, found.Lost(), "%+v", found)
	})
}

// A cancelled run is not reconciled every ten seconds until it is deleted.
func TestLate_CancelledRunComesToRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		informer := &informerOfSeveral{synced: true}
		g, err := jobgc.New(s.client, informer, jobgc.Options{})
		require.NoError(t, err)
		s.guard = g
		s.step(t)
		informer.handlers[0].OnAdd(s.jobs[jobOfRun].DeepCopy(), false)
		s.edit = func(r *jobgc.Request) { r.Cancel = true }
		assert.Equal(t, jobgc.Cancelled, s.step(t).State)
		s.stored.done = true
		s.change(jobOfRun, func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuspended, time.Now())}
		})
		informer.handlers[0].OnUpdate(nil, s.jobs[jobOfRun].DeepCopy())
		looks := 0
		for found := s.step(t); found.After > 0 && looks < 100; found = s.step(t) {
			looks++
			time.Sleep(found.After)
		}
		assert.Positive(t, looks, "its last pod may still finish it")
		assert.Less(t, looks, 10)
	})
}

// The caller has ended a run whose Job still runs. The informer does not say
// its version, so that only a live read could prove that the Job is gone.
func TestStep_EndedRunWhoseJobIsNotInTheCache(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.stored.done = true
	s.store.version = "" // as before client-go v0.36, or before the first list
	found := s.step(t)
	require.NotNil(t, s.jobs[jobOfRun], "it runs")
	assert.Equal(t, jobgc.Pending, found.State, "%+v", found)
	assert.Zero(t, found.After)
}

// The owner is being deleted, and its own finalizer waits for the result. The
// cache of a controller that has just started lacks the Job.
func TestLate_DeletingOwnerWhoseJobIsNotInTheCacheYet(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.store.version = "" // as before client-go v0.36, or before the first list
	s.stored.DeletionTimestamp = ptr.To(metav1.Now())
	found := s.step(t)
	require.NotNil(t, s.jobs[jobOfRun], "it runs")
	assert.False(t, found.Lost(), "%+v", found)
}

// The same owner; its Job has finished and is gone, and the delete event is a
// moment late.
func TestLate_DeletingOwnerWhoseJobHasJustGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.step(t)
		s.store.sync(s.server)
		s.guard.OnAdd(s.jobs[jobOfRun], true)
		s.stored.DeletionTimestamp = ptr.To(metav1.Now())
		s.change(jobOfRun, finish(time.Now()))
		last := s.remove(jobOfRun)
		s.store.sync(s.server)
		found := s.step(t)
		assert.False(t, found.Lost(), "%+v", found)
		s.guard.OnDelete(last)
		found = s.step(t)
		assert.Equal(t, jobgc.Finished, found.State)
	})
}

// The owner's cache is late: another replica has recorded the outcome and has
// released the Job, which is gone.
func TestLate_StaleOwnerOfAReleasedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Second, UnrecordedTTL: week}})
		s.step(t)
		stale := &agentRun{ObjectMeta: s.stored.ObjectMeta, job: s.stored.job}
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		s.step(t) // record
		s.step(t) // release
		other := newGuard(t, s.world, jobgc.Options{})
		s.store.sync(s.server)
		other.OnAdd(s.jobs[jobOfRun], true)
		last := s.remove(jobOfRun)
		s.store.sync(s.server)
		other.OnDelete(last)
		_, _, err := other.Step(t.Context(), s.request(stale))
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, found, err := other.Step(t.Context(), s.request(stale))
		require.NoError(t, err)
		assert.False(t, found.Lost(), "%+v", found)
		assert.Equal(t, jobgc.Pending, found.State)
		time.Sleep(time.Hour) // the owner was restored from a backup, for example
		_, found, err = other.Step(t.Context(), s.request(stale))
		require.NoError(t, err)
		assert.Equal(t, jobgc.Finished, found.State)
		assert.Equal(t, jobgc.Succeeded, found.Outcome)
		_, found, err = other.Step(t.Context(), s.request(s.stored))
		require.NoError(t, err)
		assert.Equal(t, jobgc.Collected, found.State)
	})
}

// A cancelled Job's last pod had succeeded, so it is Complete a second after
// its finalizer was removed.
func TestLate_CancelledJobThatCompletesAfterItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Finalizer: "agents.example.com/result", Retention: jobgc.Retention{SucceededTTL: time.Hour}})
		s.step(t)
		s.store.sync(s.server)
		s.edit = func(req *jobgc.Request) { req.Cancel = true }
		assert.Equal(t, jobgc.Cancelled, s.step(t).State)
		s.store.sync(s.server)
		s.step(t)
		require.Empty(t, s.jobs[jobOfRun].Finalizers, "released")
		s.store.sync(s.server)
		time.Sleep(time.Second)
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		found := s.step(t) // the event
		if found.After > 0 {
			time.Sleep(found.After)
			s.step(t)
		}
		assert.NotNil(t, s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished, "After %s", found.After)
	})
}

// A cancellation is recorded, and the Job is not suspended in the cache.
func TestStep_DoneRunKeepsItsVerdict(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.store.sync(s.server)
	s.edit = func(req *jobgc.Request) { req.Cancel = true }
	s.stored.done = true // Cancelled
	s.change(jobOfRun, finish(time.Now()))
	s.step(t)
	assert.Empty(t, s.stored.job.Outcome)
}
