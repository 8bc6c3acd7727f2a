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
	most    int
	mu      sync.Mutex
	workers map[string]int                    // by namespace
	first   map[string][]types.NamespacedName // runs that wait and have a Job
	rest    map[string][]types.NamespacedName // other runs that wait
}

// newShares divides the workers. A controller of one namespace needs no limit.
func newShares(workers int, namespaces []string) *shares {
	most := max(workers/2, 1)
	if len(namespaces) == 1 && namespaces[0] != metav1.NamespaceAll {
		most = workers
	}
	return &shares{
		most:    most,
		workers: map[string]int{},
		first:   map[string][]types.NamespacedName{},
		rest:    map[string][]types.NamespacedName{},
	}
}

// take reports whether a worker may work on the run now. Call leave after it.
// Otherwise the run waits, and leave returns it later: before others if it goes
// first. A run may wait twice.
func (s *shares) take(run types.NamespacedName, first bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers[run.Namespace] < s.most {
		s.workers[run.Namespace]++
		return true
	}
	waiting := s.rest
	if first {
		waiting = s.first
	}
	waiting[run.Namespace] = append(waiting[run.Namespace], run)
	return false
}

// leave is called when a worker has ended its work on a run of the namespace.
// It returns the run that is next, if one waits.
func (s *shares) leave(namespace string) (next types.NamespacedName, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers[namespace]--
	if s.workers[namespace] == 0 {
		delete(s.workers, namespace)
	}
	for _, waiting := range []map[string][]types.NamespacedName{s.first, s.rest} {
		list := waiting[namespace]
		if len(list) > 0 {
			waiting[namespace] = list[1:]
			return list[0], true
		}
		delete(waiting, namespace)
	}
	return types.NamespacedName{}, false
}
