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

// The age grows while the version stays, and begins again when it moves.
//
//req:shows O2
func TestCache_AgeIsTheTimeSinceTheVersionMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		i := &informer{}
		c := kube.NewCache(m, "pods", i)
		ready := c.Check(15 * time.Minute)
		const series = `controller_cache_age_seconds{resource="pods"}`
		assert.Empty(t, scrape(t, ep, "controller_cache"), "an informer that was never started has no age")
		require.ErrorContains(t, ready(nil), "metrics/kube: the cache of pods has not been filled")

		i.version.Store("7")
		assert.Equal(t, "0", scrape(t, ep, "controller_cache")[series])
		<-time.After(10 * time.Minute)
		assert.Equal(t, "600", scrape(t, ep, "controller_cache")[series], "no bookmark for ten minutes")
		require.NoError(t, ready(nil))
		<-time.After(5*time.Minute + time.Second)
		require.ErrorContains(t, ready(nil), "the cache of pods got nothing from the API server for 15m1s; want at most 15m0s")

		i.version.Store("8")
		require.NoError(t, ready(nil), "a bookmark")
		assert.Equal(t, "0", scrape(t, ep, "controller_cache")[series])
		c.Close()
		c.Close()
		assert.Empty(t, scrape(t, ep, "controller_cache"), "the series ends")
	})
}

func TestCache_WithoutAnInformerOrMetrics(t *testing.T) {
	m, ep := newSet(t)
	c := kube.NewCache(m, "pods", (*informer)(nil))
	assert.Negative(t, c.Age())
	require.Error(t, c.Check(time.Minute)(nil))
	assert.Empty(t, scrape(t, ep, "controller_cache"))

	client := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, nil)
	unstarted := kube.NewCache(m, "pods", client)
	assert.Negative(t, unstarted.Age(), "an informer of client-go that was never started")
	require.ErrorContains(t, unstarted.Check(time.Minute)(nil), "the cache of pods has not been filled")
	assert.Empty(t, scrape(t, ep, "controller_cache"))
	unstarted.Close()

	i := &informer{}
	i.version.Store("1")
	alone := kube.NewCache(nil, "pods", i)
	assert.GreaterOrEqual(t, alone.Age(), time.Duration(0))
	require.NoError(t, alone.Check(time.Minute)(nil))
	alone.Close()

	var none *kube.Cache
	none.Close()
	assert.Negative(t, none.Age())
	assert.NoError(t, none.Check(time.Minute)(nil))
}
