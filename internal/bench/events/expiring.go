// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"sync"
	"time"
)

// expiring remembers keys for a while, like github.com/patrickmn/go-cache in
// karpenter: a map with a lock. There a janitor drops expired entries; here add
// does, every ten seconds.
type expiring struct {
	keep time.Duration

	mu    sync.Mutex
	until map[string]int64
	swept int64
}

func newExpiring(keep time.Duration) *expiring {
	return &expiring{keep: keep, until: map[string]int64{}}
}

// add reports whether the key is new, and remembers it.
func (e *expiring) add(reason string, values []string) bool {
	key := reason + "-" + strings.ToLower(strings.Join(values, "-"))
	now := time.Now().UnixNano()
	e.mu.Lock()
	defer e.mu.Unlock()
	if now-e.swept > int64(10*time.Second) {
		e.swept = now
		for k, until := range e.until {
			if until < now {
				delete(e.until, k)
			}
		}
	}
	if e.until[key] > now {
		return false
	}
	e.until[key] = now + int64(e.keep)
	return true
}
