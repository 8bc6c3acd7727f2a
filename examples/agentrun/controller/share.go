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
	first   []types.NamespacedName // runs that wait and have a Job, in the order in which they came
	rest    []types.NamespacedName // other runs that wait
	waits   map[types.NamespacedName]bool
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
// Otherwise the run waits, and leave returns it later: before others if it goes
// first.
func (s *shares) take(run types.NamespacedName, first bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	its := s.of[run.Namespace]
	if its == nil {
		its = &share{waits: map[types.NamespacedName]bool{}}
		s.of[run.Namespace] = its
	}
	if its.workers < s.most {
		its.workers++
		return true
	}
	goesFirst, ok := its.waits[run]
	switch {
	case first && !goesFirst:
		its.first = append(its.first, run)
		its.waits[run] = true
	case !ok:
		its.rest = append(its.rest, run)
		its.waits[run] = false
	}
	return false
}

// leave is called when a worker has ended its work on a run of the namespace.
// It returns the run that is next, if one waits.
func (s *shares) leave(namespace string) (next types.NamespacedName, first, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	its := s.of[namespace]
	its.workers--
	for _, list := range []*[]types.NamespacedName{&its.first, &its.rest} {
		for len(*list) > 0 {
			next = (*list)[0]
			*list = (*list)[1:]
			first, found = its.waits[next]
			if found { // not if it was in both lists
				delete(its.waits, next)
				return next, first, true
			}
		}
	}
	if its.workers == 0 {
		delete(s.of, namespace)
	}
	return types.NamespacedName{}, false, false
}
