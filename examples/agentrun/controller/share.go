// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// shares limits how many workers one namespace has at a time. The requests of
// one tenant can be slow, because of a webhook that hangs. The other workers
// then go on with the runs of the others.
type shares struct {
	most int
	mu   sync.Mutex
	of   map[string]*share
}

// share is what one namespace has and wants.
type share struct {
	workers int
	queue   []types.NamespacedName // runs that wait, in the order in which they came
	queued  map[types.NamespacedName]bool
}

// newShares divides the workers. A controller of one namespace needs no limit.
func newShares(workers int, namespaces []string) *shares {
	most := max(workers/2, 1)
	if len(namespaces) == 1 && namespaces[0] != metav1.NamespaceAll {
		most = workers
	}
	return &shares{most: most, of: map[string]*share{}}
}

// take reports whether a worker may work on the run now. Call leave after it.
// Otherwise the run waits, and leave returns it later.
func (s *shares) take(run types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	its := s.of[run.Namespace]
	if its == nil {
		its = &share{queued: map[types.NamespacedName]bool{}}
		s.of[run.Namespace] = its
	}
	if its.workers < s.most {
		its.workers++
		return true
	}
	if !its.queued[run] {
		its.queued[run] = true
		its.queue = append(its.queue, run)
	}
	return false
}

// leave is called when a worker has ended its work on a run of the namespace.
// It returns the run that has waited the longest, if there is one.
func (s *shares) leave(namespace string) (next types.NamespacedName, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	its := s.of[namespace]
	its.workers--
	if len(its.queue) > 0 {
		next = its.queue[0]
		its.queue = its.queue[1:]
		delete(its.queued, next)
		return next, true
	}
	if its.workers == 0 {
		delete(s.of, namespace)
	}
	return next, false
}
