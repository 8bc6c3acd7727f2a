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
	"github.com/proompteng/controllerkit/status"
)

// resync is the interval of the controller's resyncs.
const resync = time.Second

// TestIdle: controllers that watch their objects and see each of their writes,
// and also resync once a second.
func TestIdle(t *testing.T) {
	const objects, beat, idle = 10, 5 * time.Second, 20 * time.Second
	t.Parallel()
	silent, beating := newStage(t), newStage(t)
	controllers := map[*stage]*naive{
		silent:  startNaive(t, silent, writer{Owned: []string{"Ready"}}),
		beating: startNaive(t, beating, writer{Owned: []string{"Ready"}, Heartbeat: beat}),
	}
	for s := range controllers {
		for i := range objects {
			s.create(t, fmt.Sprint("a", i))
		}
		eventually(t, "each object is reconciled", func() bool { return s.settled(t, objects) })
	}

	// From here on no client changes an object.
	patches, looks := map[*stage]int{}, map[*stage]int64{}
	began := time.Now()
	for s, c := range controllers {
		patches[s], looks[s] = s.wire.count("PATCH"), c.looks.Load()
		require.GreaterOrEqual(t, patches[s], objects)
	}
	wait(t.Context(), idle)
	took := time.Since(began)
	for s, c := range controllers {
		patches[s], looks[s] = s.wire.count("PATCH")-patches[s], c.looks.Load()-looks[s]
		assert.Greater(t, looks[s], int64(5*objects), "it did look")
		assert.Empty(t, c.errors())
	}
	t.Logf("%d objects in %s: %d looks and %d writes; with a heartbeat of %s %d looks and %d writes",
		objects, took, looks[silent], patches[silent], beat, looks[beating], patches[beating])
	assert.Zero(t, patches[silent], "nothing changes, so nothing is written")
	// A heartbeat counts whole seconds and is noticed at the next resync, so it
	// may take one second less or two more.
	assert.GreaterOrEqual(t, patches[beating], int(took/(beat+2*resync)-1)*objects, "updatedAt is refreshed once it is old")
	assert.LessOrEqual(t, patches[beating], int(took/(beat-time.Second)+1)*objects, "and not more often")

	// A change is still written immediately, and once.
	silent.wire.sent()
	silent.respec(t, "a0", "new")
	eventually(t, "the change is seen", func() bool { return silent.settled(t, objects) })
	wait(t.Context(), 2*resync)
	writes := 0
	for _, r := range silent.wire.sent() {
		switch {
		case r.method != "PATCH":
		case r.body == "{}": // a reconcile of an old copy met a conflict, and its read found nothing to write
			writes--
		default:
			writes++
		}
	}
	assert.Equal(t, 1, writes)
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

// naive is a controller without a queue or a filter: it reconciles an object at
// every event.
type naive struct {
	looks  atomic.Int64
	mu     sync.Mutex
	failed []error
}

func (c *naive) errors() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// startNaive runs a naive controller until the test ends.
func startNaive(t *testing.T, s *stage, w writer) *naive {
	t.Helper()
	c := &naive{}
	ctx := t.Context()
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return s.ours.probes.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return s.ours.probes.Watch(ctx, opts)
		},
	}, &kinds.Probe{}, resync, cache.Indexers{})
	reconcile := func(obj any) {
		c.looks.Add(1)
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
		_, err := via(s.ours.probes.Patch, w).Commit(ctx, before, after, status.Facts{Progress: status.Running})
		if err != nil && ctx.Err() == nil {
			c.mu.Lock()
			c.failed = append(c.failed, err)
			c.mu.Unlock()
		}
	}
	_, err := informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc: reconcile, UpdateFunc: func(_, obj any) { reconcile(obj) },
	}, resync)
	require.NoError(t, err)
	stop, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(stop) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return c
}
