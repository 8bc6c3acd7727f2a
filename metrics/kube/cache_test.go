// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/metrics/kube"
)

var _ kube.Informer = cache.SharedIndexInformer(nil)

// informer has the version that a test stores.
type informer struct{ version atomic.Value }

func (i *informer) LastSyncResourceVersion() string {
	version, _ := i.version.Load().(string)
	return version
}

// TestCache_AgeIsTheTimeSinceTheVersionMoved: it counts from NewCache on. A
// cache that is never filled, because a list is forbidden or a CRD is missing,
// grows old like one whose watch is dead.
//
//req:shows O2
func TestCache_AgeIsTheTimeSinceTheVersionMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		i := &informer{}
		c := kube.NewCache(m, "pods", i)
		ready := c.Check(15 * time.Minute)
		age := func() string {
			return scrape(t, ep, "controller_cache")[`controller_cache_age_seconds{resource="pods"}`]
		}
		assert.Equal(t, "0", age())
		<-time.After(20 * time.Minute)
		assert.Equal(t, "1200", age())
		require.ErrorContains(t, ready(nil), "metrics/kube: the cache of pods has not been filled")

		i.version.Store("7")
		assert.Equal(t, "0", age())
		<-time.After(10 * time.Minute)
		assert.Equal(t, "600", age(), "no bookmark for ten minutes")
		require.NoError(t, ready(nil))
		<-time.After(5*time.Minute + time.Second)
		require.ErrorContains(t, ready(nil), "the cache of pods got nothing from the API server for 15m1s; want at most 15m0s")

		i.version.Store("8")
		require.NoError(t, ready(nil), "a bookmark")
		assert.Equal(t, "0", age())
		c.Close()
		c.Close()
		assert.Empty(t, scrape(t, ep, "controller_cache"), "the series ends")
	})
}

func TestCache_WithoutAnInformerOrMetrics(t *testing.T) {
	m, ep := newSet(t)
	c := kube.NewCache(m, "pods", (*informer)(nil))
	require.ErrorContains(t, c.Check(time.Minute)(nil), "the cache of pods has not been filled")
	assert.Empty(t, scrape(t, ep, "controller_cache"))
	c.Close()

	client := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, nil)
	unstarted := kube.NewCache(m, "pods", client)
	require.ErrorContains(t, unstarted.Check(time.Minute)(nil), "the cache of pods has not been filled")
	unstarted.Close()

	i := &informer{}
	i.version.Store("1")
	alone := kube.NewCache(nil, "pods", i)
	require.NoError(t, alone.Check(time.Minute)(nil))
	alone.Close()

	var none *kube.Cache
	none.Close()
	assert.Zero(t, none.Age())
	assert.NoError(t, none.Check(time.Minute)(nil))
}
