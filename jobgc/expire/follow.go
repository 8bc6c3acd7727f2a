// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import "time"

// OnAdd notes when a run of the informer may be due. After the first call,
// Sweep skips the runs until one may be due.
func (s *Sweeper) OnAdd(obj any, _ bool) {
	if !s.made() {
		return
	}
	r, ok := s.read(obj)
	if !ok {
		return
	}
	now := time.Now()
	in, ever := r.expiresIn(s.opts, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follows = true
	if ever {
		s.expect(in, now)
	}
}

// OnUpdate notes when a run that has changed may be due.
func (s *Sweeper) OnUpdate(_, obj any) { s.OnAdd(obj, false) }

// OnDelete does nothing: the run is no longer in the store.
func (s *Sweeper) OnDelete(any) {}

// expect keeps the time at which a run is due, if it is the first one. The
// caller holds mu.
func (s *Sweeper) expect(in time.Duration, now time.Time) {
	due := now.Round(0).Add(in) // of the wall clock, as the finish of a run is
	if s.next.IsZero() || due.Before(s.next) {
		s.next = due
	}
}

// expectAll is expect for the runs that a sweep has looked at.
func (s *Sweeper) expectAll(in []time.Duration, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range in {
		s.expect(d, now)
	}
}

// begin reports whether a sweep has to look at the runs, and forgets when the
// next one is due. OnAdd may be called from then on.
func (s *Sweeper) begin(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := s.next.IsZero() || now.Before(s.next)
	if s.follows && later {
		return false
	}
	s.next = time.Time{}
	return true
}
