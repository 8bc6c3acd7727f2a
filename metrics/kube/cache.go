// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"net/http"
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
// may hang open for hours behind a proxy that stops delivering: there is no
// error, and the queue is empty. The version of an informer moves with each
// event and with each bookmark. Most API servers send a bookmark each minute.
// For a resource that nothing changes it has a new version when etcd last
// notified the API server: after seconds or, by etcd's default, 10 minutes. An
// aggregated API server may send none.
//
// Make it with [NewCache]. Its methods are safe for concurrent use, and a nil
// *Cache does nothing.
type Cache struct {
	resource string
	informer Informer
	stop     func()

	mu      sync.Mutex
	version string
	moved   time.Time // when the version was first seen
}

// NewCache exports the age of an informer's version as controller.cache.age
// until Close. Each collection and each Check looks at the version. The
// resource is the value of the label, such as "pods". An informer that was
// never started has no age. A nil m exports nothing. NewCache starts nothing.
func NewCache(m *metrics.Metrics, resource string, informer Informer) *Cache {
	c := &Cache{resource: resource, informer: informer}
	c.stop = m.ObserveCache(resource, c.Age)
	return c
}

// Age is the time since the version of the informer was first seen. It is
// negative if the informer is nil, or has not listed its objects yet.
func (c *Cache) Age() time.Duration {
	const unknown = -1
	if c == nil || isnil.Is(c.informer) {
		return unknown
	}
	version := c.informer.LastSyncResourceVersion() // code of others, so without mu
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == "" {
		return unknown
	}
	if version != c.version {
		c.version = version
		c.moved = now
	}
	return max(0, now.Sub(c.moved))
}

// Check is a check for a readyz endpoint, such as controller-runtime's
// AddReadyzCheck. It fails while the informer has not listed its objects, and
// while its version is older than limit: give it 15 minutes or more. Use it
// only if a process that is not ready should lose traffic, such as a process
// that serves from its cache. Do not use it for livez: an API server that is
// down would restart all controllers.
func (c *Cache) Check(limit time.Duration) func(*http.Request) error {
	return func(*http.Request) error {
		if c == nil {
			return nil
		}
		age := c.Age()
		if age < 0 {
			return fmt.Errorf("metrics/kube: the cache of %s has not been filled", c.resource)
		}
		if age > limit {
			return fmt.Errorf("metrics/kube: the cache of %s got nothing from the API server "+
				"for %v; want at most %v",
				c.resource, age.Round(time.Second), limit)
		}
		return nil
	}
}

// Close ends the series.
func (c *Cache) Close() {
	if c != nil {
		c.stop()
	}
}
