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
// may hang open for hours behind a proxy that stops delivering, and a list may
// be forbidden: the queue is empty then, and nothing fails. The version of an
// informer moves with each event and with each bookmark. Most API servers send
// a bookmark each minute. For a resource that nothing changes it has a new
// version when etcd last notified the API server: after seconds or, by etcd's
// default, 10 minutes. An aggregated API server may send none.
//
// Make it with [NewCache]. Its methods are safe for concurrent use, and a nil
// *Cache does nothing.
type Cache struct {
	resource string
	informer Informer
	stop     func()

	mu      sync.Mutex
	version string    // "" before the first list
	moved   time.Time // when the version was first seen, at first the call of NewCache
}

// NewCache exports the age of an informer's version as controller.cache.age
// until Close. Call it where the informer starts: until the informer has listed
// its objects, the age counts from this call. So a cache that is never filled
// grows old. Each collection and each Check looks at the version. The resource
// is the value of the label, such as "pods". A nil m, or a nil informer,
// exports nothing. NewCache starts nothing.
func NewCache(m *metrics.Metrics, resource string, informer Informer) *Cache {
	c := &Cache{resource: resource, informer: informer, moved: time.Now(), stop: func() {}}
	if !isnil.Is(informer) {
		c.stop = m.ObserveCache(resource, c.Age)
	}
	return c
}

// Age is the time since the version of the informer was first seen, or since
// NewCache if it has none. For a nil informer it is the time since NewCache.
func (c *Cache) Age() time.Duration {
	_, age := c.look()
	return age
}

// look returns the informer's version and its age.
func (c *Cache) look() (version string, age time.Duration) {
	if c == nil {
		return "", 0
	}
	if !isnil.Is(c.informer) {
		version = c.informer.LastSyncResourceVersion() // code of others, so without mu
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		c.version = version
		c.moved = now
	}
	return version, max(0, now.Sub(c.moved))
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
		version, age := c.look()
		if version == "" {
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
