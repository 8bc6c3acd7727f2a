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

	"github.com/proompteng/controllerkit/status"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/e2e/status/kinds"
)

// resync is how often the controller looks at everything.
const resync = time.Second

// TestIdle: a controller that watches its own objects, hears of each of its own writes, and looks at everything once a second besides.
func TestIdle(t *testing.T) {
	const objects, beat, idle = 10, 5 * time.Second, 20 * time.Second
	t.Parallel()
	cases := map[string]struct {
		reason    string
		heartbeat time.Duration
	}{
		"Silent":    {"Nothing changes, so nothing is written.", 0},
		"Heartbeat": {"updatedAt is refreshed once it is old, and not more often.", beat},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := startNaive(t, s, writer{Heartbeat: tc.heartbeat, Owned: []string{"Ready"}})
			for i := range objects {
				s.create(t, fmt.Sprint("a", i))
			}
			settled := func() bool {
				list, err := s.theirs.probes.List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				for _, p := range list.Items {
					if p.Status.ObservedGeneration != p.Generation {
						return false
					}
				}
				return len(list.Items) == objects
			}
			eventually(t, "each object is reconciled", settled)
			// From here on nobody changes anything.
			patches, reconciles := s.wire.count("PATCH"), c.reconciles.Load()
			require.GreaterOrEqual(t, patches, objects)
			began := time.Now()
			wait(t.Context(), idle)
			took := time.Since(began)
			patches, reconciles = s.wire.count("PATCH")-patches, c.reconciles.Load()-reconciles
			t.Logf("%d reconciles of %d objects in %s: %d writes", reconciles, objects, took, patches)
			assert.Greater(t, reconciles, int64(5*objects), "it did look")
			if tc.heartbeat == 0 {
				assert.Zero(t, patches, tc.reason)
			} else {
				// A beat counts whole seconds and is noticed at the next look: it may take one second less or two more.
				assert.GreaterOrEqual(t, patches, int(took/(beat+2*resync)-1)*objects, tc.reason)
				assert.LessOrEqual(t, patches, int(took/beat+1)*objects, tc.reason)
			}
			assert.Empty(t, c.errors())

			// It is not deaf: a change is written at once, and once.
			s.wire.sent()
			s.respec(t, "a0", "new")
			eventually(t, "the change is seen", settled)
			if tc.heartbeat == 0 {
				assert.Equal(t, 1, s.wire.count("PATCH"))
			}
		})
	}
}

// naive is a controller without a queue or a filter of events: whatever it hears of an object, it reconciles.
type naive struct {
	reconciles atomic.Int64
	mu         sync.Mutex
	failed     []error
}

func (c *naive) errors() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// startNaive runs one until the test ends.
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
		c.reconciles.Add(1)
		before := obj.(*kinds.Probe)
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		after.Status.ComputedFor = string(before.UID)
		after.Status.JobRef = &kinds.JobRef{Name: before.Name}
		after.Status.Steps = []string{"build", "test"}
		now := time.Now()
		after.Status.UpdatedAt = new(metav1.NewTime(now)) // as many controllers do; it does not count
		w.SetConditions(&after.Status.Conditions, now, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Running", ObservedGeneration: before.Generation,
		})
		_, err := w.Commit(ctx, s.ours.probes, before, after, status.Facts{Progress: status.Running})
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
