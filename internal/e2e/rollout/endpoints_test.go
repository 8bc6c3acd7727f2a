// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"strconv"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// capacity is the least and the greatest number of ready endpoints of the
// Service since it was last reset: what its users had.
type capacity struct {
	mu          sync.Mutex
	now         int
	least, most int
	seen        int // changes
	ended       chan struct{}
}

// measure follows the EndpointSlice of the Service web without a gap, and
// starts counting when want are ready. So few endpoints are in one slice.
func (s *stage) measure(want int) *capacity {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	w, err := s.kube.DiscoveryV1().EndpointSlices(s.namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=web",
	})
	require.NoError(s, err)
	c := &capacity{ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for e := range w.ResultChan() {
			c.event(e)
		}
	}()
	s.Cleanup(func() { cancel(); w.Stop(); <-c.ended })
	s.eventually("the endpoints are ready", func(t *assert.CollectT) {
		c.mu.Lock()
		defer c.mu.Unlock()
		require.Equal(t, want, c.now)
	})
	c.reset()
	return c
}

func (c *capacity) event(e watch.Event) {
	slice, ok := e.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	ready := 0
	for _, e := range slice.Endpoints {
		if e.Conditions.Ready != nil && *e.Conditions.Ready {
			ready++
		}
	}
	if e.Type == watch.Deleted {
		ready = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = ready
	c.least, c.most = min(c.least, c.now), max(c.most, c.now)
	c.seen++
}

func (c *capacity) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.least, c.most, c.seen = c.now, c.now, 0
}

// readyAgain waits until something has changed and want are ready again, and
// returns the least and the most until then.
func (s *stage) readyAgain(c *capacity, want int) (least, most int) {
	s.Helper()
	s.eventually("the endpoints are ready again", func(t *assert.CollectT) {
		c.mu.Lock()
		defer c.mu.Unlock()
		require.NotZero(t, c.seen, "nothing changed")
		require.Equal(t, want, c.now)
	})
	select {
	case <-c.ended:
		require.Fail(s, "the watch of the endpoints has ended, and has not seen all")
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	least = c.least
	most = c.most
	s.Attr("least-ready-endpoints", strconv.Itoa(least)) // make compare reads both
	s.Attr("most-ready-endpoints", strconv.Itoa(most))
	return least, most
}
