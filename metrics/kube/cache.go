// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"
	"time"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/metrics"
)

// Informer is an informer of client-go, such as a cache.SharedIndexInformer.
// What controller-runtime's cache.Cache returns is one too, behind a type
// assertion.
type Informer interface {
	// LastSyncResourceVersion is the version of the last list, event or
	// bookmark, "" before the first list.
	LastSyncResourceVersion() string
}

// Cache knows when an informer last got anything from the API server. A watch
// may hang open for hours behind a proxy that stops delivering, and a list may
// be forbidden: the queue is empty then, and nothing fails. The version of an
// informer moves with each event and with each bookmark. Most API servers send
// a bookmark each minute. While nothing of the resource changes, it has a new
// version only after a notification of etcd: within seconds, or by etcd's
// default 10 minutes. An aggregated API server may send none.
type Cache struct {
	informer Informer
	stop     func()

	mu      sync.Mutex
	version string    // "" before the first list
	moved   time.Time // when the version was first seen, at first the call of NewCache
}

// NewCache exports the age of an informer's version as controller.cache.age
// until Close. Call it where the informer starts: until the informer has listed
// its objects, the age counts from this call. So a cache that is never filled
// grows old. Each collection looks at the version. The resource is the value of
// the label, such as "pods". A nil m, or a nil informer, exports nothing.
// NewCache starts nothing.
func NewCache(m *metrics.Metrics, resource string, informer Informer) *Cache {
	c := &Cache{informer: informer, moved: time.Now(), stop: func() {}}
	if !isnil.Is(informer) {
		c.stop = m.ObserveCache(resource, c.age)
	}
	return c
}

func (c *Cache) age() time.Duration {
	version := c.informer.LastSyncResourceVersion() // code of others, so without mu
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		c.version = version
		c.moved = now
	}
	return max(0, now.Sub(c.moved))
}

// Close ends the series. Call it if the informer ends before the process. A
// second Close does nothing.
func (c *Cache) Close() { c.stop() }
