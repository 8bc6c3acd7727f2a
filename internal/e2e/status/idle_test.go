// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/e2e/status/kinds"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/status"
)

// resync is the interval of the controller's resyncs.
const resync = time.Second

// TestIdle: a controller without a queue or a filter reconciles an object at
// every event, also those of its own writes, and resyncs once a second. It
// writes nothing while nothing changes.
func TestIdle(t *testing.T) {
	const objects, idle = 10, 20 * time.Second
	t.Parallel()
	s := newStage(t)
	var looks atomic.Int64
	startNaive(t, s, &looks)
	for i := range objects {
		s.create(t, fmt.Sprint("a", i))
	}
	suite.Eventually(t, "each object is reconciled", func(context.Context) bool { return s.settled(t, objects) })

	// From here on no client changes an object.
	require.GreaterOrEqual(t, len(s.wire.sent()), objects)
	before := looks.Load()
	suite.Wait(t.Context(), idle)
	looked := looks.Load() - before
	assert.Greater(t, looked, int64(5*objects), "it did look")
	assert.Empty(t, s.wire.sent(), "nothing changes, so nothing is written")
	t.Logf("%d objects in %s: %d looks", objects, idle, looked)
}

// settled reports whether all Probes are reconciled.
func (s *stage) settled(t *testing.T, objects int) bool {
	t.Helper()
	list, err := s.theirs.probes.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, p := range list.Items {
		if p.Status.ObservedGeneration != p.Generation {
			return false
		}
	}
	return len(list.Items) == objects
}

// startNaive runs the controller until the test ends.
func startNaive(t *testing.T, s *stage, looks *atomic.Int64) {
	t.Helper()
	w := status.Writer{Owned: []string{"Ready"}}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return s.ours.probes.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return s.ours.probes.Watch(ctx, opts)
		},
	}, &kinds.Probe{}, resync, cache.Indexers{})
	reconcile := func(obj any) {
		looks.Add(1)
		before := obj.(*kinds.Probe)
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		after.Status.ComputedFor = string(before.UID)
		after.Status.JobRef = &kinds.JobRef{Name: before.Name}
		after.Status.Steps = []string{"build", "test"}
		now := time.Now()
		after.Status.UpdatedAt = new(metav1.NewTime(now)) // as many controllers do; the contract ignores it
		w.SetConditions(&after.Status.Conditions, now, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Running", ObservedGeneration: before.Generation,
		})
		_, err := via(s.ours.probes.Patch, w).Commit(t.Context(), before, after, running)
		if t.Context().Err() == nil {
			assert.NoError(t, err)
		}
	}
	_, err := informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc: reconcile, UpdateFunc: func(_, obj any) { reconcile(obj) },
	}, resync)
	require.NoError(t, err)
	var controller sync.WaitGroup
	controller.Go(func() { informer.RunWithContext(t.Context()) })
	t.Cleanup(controller.Wait)
}
