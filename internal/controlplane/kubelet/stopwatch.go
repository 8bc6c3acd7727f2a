// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// stopwatch remembers since when a pod has been in its stage: the times in the
// objects are whole seconds, too coarse for delays of milliseconds. It holds
// one mark for each pod that exists. The zero value is ready to use.
type stopwatch struct {
	mu    sync.Mutex
	marks map[cache.ObjectName]mark
}

type mark struct {
	uid   types.UID
	stage stage
	at    time.Time
}

// since returns how long ago the pod was first seen in the stage: zero if that
// is now.
func (s *stopwatch) since(name cache.ObjectName, uid types.UID, now stage, at time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.marks[name]; ok && m.uid == uid && m.stage == now {
		return at.Sub(m.at)
	}
	if s.marks == nil {
		s.marks = map[cache.ObjectName]mark{}
	}
	s.marks[name] = mark{uid, now, at}
	return 0
}

// forget drops the mark of a pod that no longer exists.
func (s *stopwatch) forget(name cache.ObjectName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.marks, name)
}
