// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

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
		age := func() string {
			return scrape(t, ep, "controller_cache")[`controller_cache_age_seconds{resource="pods"}`]
		}
		assert.Equal(t, "0", age())
		<-time.After(20 * time.Minute)
		assert.Equal(t, "1200", age())

		i.version.Store("7")
		assert.Equal(t, "0", age())
		<-time.After(10 * time.Minute)
		assert.Equal(t, "600", age(), "no bookmark for ten minutes")

		i.version.Store("8")
		assert.Equal(t, "0", age(), "a bookmark")
		c.Close()
		c.Close()
		assert.Empty(t, scrape(t, ep, "controller_cache"), "the series ends")
	})
}

func TestCache_WithoutAnInformerOrMetrics(t *testing.T) {
	m, ep := newSet(t)
	kube.NewCache(m, "pods", (*informer)(nil)).Close()
	kube.NewCache(m, "pods", nil)
	kube.NewCache(nil, "pods", new(informer)).Close()
	assert.Empty(t, scrape(t, ep, "controller_cache"))

	unstarted := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, nil)
	kube.NewCache(m, "pods", unstarted)
	assert.Len(t, scrape(t, ep, "controller_cache"), 1, "an informer of client-go")
}
