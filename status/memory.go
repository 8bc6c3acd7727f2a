// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A write is remembered for rememberWrite, so that a restore of the API
// server's store, or a cache whose watch is dead, blocks an object no longer
// than that.
const (
	rememberWrite = 5 * time.Minute
	maxWrites     = 16384 // objects that a Writer and its copies remember
)

// memory has the last write of each object. It forgets all when it is full.
type memory struct {
	mu     sync.Mutex
	writes map[types.UID]lastWrite
}

// lastWrite is what the Writer knows of its last write of an object. The zero
// lastWrite is nothing.
type lastWrite struct {
	at           time.Time
	version      uint64 // that the API server returned
	lost         uint64 // the difference that the API server did not keep
	isUnanswered bool   // a later write got no answer
}

func newMemory() *memory { return &memory{writes: map[types.UID]lastWrite{}} }

// of returns the last write of an object, at most rememberWrite ago.
func (m *memory) of(uid types.UID, now time.Time) lastWrite {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.writes[uid]
	if now.Sub(last.at) >= rememberWrite {
		return lastWrite{}
	}
	return last
}

// set remembers the last write of an object that has a uid.
func (m *memory) set(uid types.UID, last lastWrite, now time.Time) {
	if uid == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.writes) >= maxWrites {
		clear(m.writes)
	}
	last.at = now
	m.writes[uid] = last
}

// versionOf returns the resourceVersion of o; zero if it is not a number. The
// versions of an API server can be compared: see KEP-5504.
func versionOf(o Object) uint64 {
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// isOlder reports whether o is older than the last write.
func (l lastWrite) isOlder(o Object) bool {
	version := versionOf(o)
	return version != 0 && version < l.version
}
