// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// The races in which a Job looks gone, or is gone, before its result is read.
// The numbers are from the design's list.

// With TrustCache only the order of the two reads prevents a false loss. The
// other order is counted for comparison.
//
//req:shows J3
func TestRace02TheVersionIsReadBeforeTheLookup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{TrustCache: true})
	store, ok := c.informer.GetStore().(interface{ LastStoreSyncResourceVersion() string })
	require.True(t, ok, "the store tells its version")
	const n = 150
	var mu sync.Mutex
	var all sync.WaitGroup
	ours, wrong, looks := 0, 0, 0
	for i := range n {
		ref := c.ensured(t, s, fmt.Sprintf("job-%d", i), suspended())
		all.Go(func() {
			for seen := false; !seen; {
				_, seen, _ = c.informer.GetStore().GetByKey(s.namespace + "/" + ref.Name) // the wrong order: lookup first
				past, err := resourceversion.CompareResourceVersion(store.LastStoreSyncResourceVersion(), ref.ResourceVersion)
				f, lookErr := c.Inspect(t.Context(), ref)
				mu.Lock()
				looks++
				if !assert.NoError(t, err) || !assert.NoError(t, lookErr) || f.Lost() {
					ours++
				}
				if !seen && past >= 0 {
					wrong++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("gate: order of the proof, %d Jobs, %d looks: falsely missing %d; looked up first %d", n, looks, ours, wrong)
	assert.Zero(t, ours)
}

// A Job that is really gone: the version of the cache proves it, and a read
// only confirms it.
//
//req:shows J3
func TestGoneIsProvenByTheVersionAlone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		opts   jobgc.Options
		known  jobgc.Outcome
		state  jobgc.State
		source string
		gets   int
	}{
		"Trusted":   {"Nothing is asked.", jobgc.Options{TrustCache: true}, "", jobgc.Missing, "CachePastCreate", 0},
		"Confirmed": {"The informer may have a selector.", jobgc.Options{}, "", jobgc.Missing, "LiveRead", 1},
		"Recorded":  {"Nothing is lost that would need to be confirmed.", jobgc.Options{}, jobgc.Succeeded, jobgc.Collected, "CachePastCreate", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := s.controller(t, 0, tc.opts)
			ref := c.ensured(t, s, "job", suspended())
			c.until(t, ref, jobgc.Suspended)
			s.remove(t, "job", metav1.DeletePropagationBackground)
			s.gone(t, "job")
			ref.Outcome = tc.known
			f := c.until(t, ref, tc.state)
			assert.Equal(t, tc.source, f.Source, tc.reason)
			assert.Equal(t, tc.gets, c.wire.requests("GET"), tc.reason)
		})
	}
}

func TestRace09SameNameOtherUID(t *testing.T) {
	t.Parallel()
	t.Run("NewJobVisible", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		c := s.controller(t, 0, jobgc.Options{})
		ref := c.ensured(t, s, "job", suspended())
		c.until(t, ref, jobgc.Suspended)
		s.remove(t, "job", metav1.DeletePropagationBackground)
		s.gone(t, "job")
		successor, err := s.jobs.Create(t.Context(), s.job("job", suspended()), metav1.CreateOptions{})
		require.NoError(t, err)
		f := c.until(t, ref, jobgc.Replaced)
		assert.Equal(t, "LiveRead", f.Source)
		assert.True(t, f.Lost())
		ref.Outcome = jobgc.Succeeded
		c.until(t, ref, jobgc.Collected)
		require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{SucceededTTL: time.Second}))
		assert.Equal(t, successor.UID, s.live(t, "job").UID, "the successor is not touched")
	})
	t.Run("OldJobStillCached", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		c := s.controller(t, 3*time.Second, jobgc.Options{})
		_, err := s.jobs.Create(t.Context(), s.job("job", suspended()), metav1.CreateOptions{})
		require.NoError(t, err)
		suite.Eventually(t, "the old Job is cached", func(context.Context) bool { return len(c.informer.GetStore().ListKeys()) == 1 })
		s.remove(t, "job", metav1.DeletePropagationBackground)
		s.gone(t, "job")
		ref := c.ensured(t, s, "job", suspended())
		require.Len(t, c.informer.GetStore().ListKeys(), 1)
		assert.Equal(t, jobgc.Pending, c.look(t, ref).State, "the cache has another Job")
		c.until(t, ref, jobgc.Suspended)
		assert.Zero(t, c.wire.requests("GET"))
	})
	t.Run("OldJobTerminating", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		c := s.controller(t, 0, jobgc.Options{})
		old, err := s.jobs.Create(t.Context(), s.job("job", never(), pod(kubelet.LingerAnnotation, "2s")), metav1.CreateOptions{})
		require.NoError(t, err)
		suite.Eventually(t, "its pod runs", func(context.Context) bool { return s.live(t, "job").Status.Active == 1 })
		s.remove(t, "job", metav1.DeletePropagationForeground)
		_, err = s.jobs.Create(t.Context(), s.job("job"), metav1.CreateOptions{})
		require.ErrorContains(t, err, "object is being deleted")
		ref, err := ensure(t.Context(), c.guard, s.ref("job"), s.job("job"))
		require.NoError(t, err)
		assert.Equal(t, old.UID, ref.UID, "a new Job would run the work twice")
		c.until(t, ref, jobgc.Missing)
	})
}

// A Job that is deleted in the foreground while it runs gets no condition any
// more. Its outcome is unknown, and no failure.
func TestRace10DeletedWhileItRunsAndHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{Finalizer: finalizer})
	ref := c.ensured(t, s, "job", never())
	suite.Eventually(t, "its pod runs", func(context.Context) bool { return s.live(t, "job").Status.Active == 1 })
	s.remove(t, "job", metav1.DeletePropagationForeground)
	suite.Eventually(t, "its pods are gone", func(context.Context) bool { return len(s.pods(t, "job")) == 0 })
	f := c.until(t, ref, jobgc.Deleting)
	assert.True(t, f.Lost())
	assert.Empty(t, f.Outcome)
	for range 10 {
		job := s.live(t, "job")
		require.NotNil(t, job, "held")
		require.Empty(t, job.Status.Conditions)
		assert.Zero(t, job.Status.Failed)
		suite.Wait(t.Context(), 100*time.Millisecond)
	}
	suite.Eventually(t, "the loss, once recorded, lets it go", func(context.Context) bool {
		require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{}))
		return s.live(t, "job") == nil
	})
}

func TestRace11DeletedWhenFinishedAndHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{Finalizer: finalizer})
	ref := c.ensured(t, s, "job")
	s.finished(t, "job")
	s.remove(t, "job", metav1.DeletePropagationBackground)
	suite.Eventually(t, "the cache shows the deletion", func(context.Context) bool { f := c.look(t, ref); return f.Job != nil && f.Job.DeletionTimestamp != nil })
	f := c.look(t, ref)
	assert.Equal(t, jobgc.Finished, f.State)
	assert.Equal(t, jobgc.Succeeded, f.Outcome)
	assert.Len(t, s.pods(t, "job"), 1, "of a background deletion")
	_, err := ensure(t.Context(), c.guard, ref, s.job("job"))
	require.NoError(t, err)
	require.NotNil(t, s.live(t, "job"), "held until recorded")
	ref.Outcome = f.Outcome
	require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{}))
	s.gone(t, "job")
}

// It is why Step sets the hold at the creation or never.
func TestRace12NoFinalizerOnceADeletionHasBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{Finalizer: finalizer})
	c.ensured(t, s, "job", suspended())
	s.remove(t, "job", metav1.DeletePropagationBackground)
	_, err := s.jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/late"}]`), metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "no new finalizers can be added")
	ref, err := ensure(t.Context(), c.guard, s.ref("job"), s.job("job"))
	require.NoError(t, err, "a Job with the finalizer is adopted: no other controller would release it")
	c.until(t, ref, jobgc.Deleting)
	require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{}))
	s.gone(t, "job")
}

// After a gap in the watch the informer hands over the last state that it knew.
//
//req:shows J3
func TestRace13RelistAfterAGap(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	finished := c.ensured(t, s, "finished")
	running := c.ensured(t, s, "running", pod(kubelet.DelayAnnotation, "6s")) // until then it is seen to run, and the watch cut
	c.until(t, finished, jobgc.Finished)
	suite.Eventually(t, "it runs", func(context.Context) bool {
		return c.look(t, running).State == jobgc.Active && s.live(t, "running").Status.Active == 1
	})
	c.wire.sever()
	s.finished(t, "running")
	for _, name := range []string{"finished", "running"} {
		s.remove(t, name, metav1.DeletePropagationBackground)
		s.gone(t, name)
	}
	c.wire.mend()
	suite.Eventually(t, "the informer is back", func(context.Context) bool { return len(c.informer.GetStore().ListKeys()) == 0 })
	f, err := c.decided(t.Context(), finished)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Finished, f.State, "a finish never is stale")
	assert.Equal(t, "Tombstone", f.Source)
	f, err = c.decided(t.Context(), running)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State, "it finished in the gap, so its outcome is unknown")
	assert.Equal(t, "LiveRead", f.Source)
}
