// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"time"

	"github.com/proompteng/controllerkit/internal/isolate"
)

type cacheSource struct {
	resource string
	age      func() time.Duration
	call     isolate.Call[time.Duration]
}

// ObserveCache calls age at each collection and exports it as
// controller.cache.age: the time since the cache of a resource last got
// anything from the API server. The Cache of package metrics/kube calls it. Of
// two caches of one resource, the greater age is exported. A negative age is
// unknown and not exported.
//
// The series ends with stop, which may be called more than once. An age that
// panics or hangs costs its own series, as for [Controller.ObserveQueue]. A nil
// age observes nothing.
func (m *Metrics) ObserveCache(resource string, age func() time.Duration) (stop func()) {
	if m == nil || age == nil {
		return func() {}
	}
	source := &cacheSource{resource: resource, age: age}
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	m.caches = append(m.caches, source)
	return func() {
		m.set.mu.Lock()
		defer m.set.mu.Unlock()
		m.caches = slices.DeleteFunc(m.caches, func(s *cacheSource) bool { return s == source })
	}
}
