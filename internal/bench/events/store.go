// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// waitTimeout limits each wait. An Event that comes later counts as lost: the
// measure ends and reports it.
const waitTimeout = time.Minute

// store is an API server for Events. It counts the writes, and accepts all.
type store struct {
	takes time.Duration // a write

	mu               sync.Mutex
	changed          sync.Cond
	creates, patches int
	inFlight, most   int
	last             time.Time           // time of the last write
	objects          map[string]struct{} // with a stored Event; nil if not needed
}

func newStore() *store {
	s := new(store)
	s.changed.L = &s.mu
	return s
}

func (s *store) create(about corev1.ObjectReference) {
	s.write(func() {
		s.creates++
		if s.objects != nil {
			s.objects[about.Name] = struct{}{}
		}
	})
}

func (s *store) patch() { s.write(func() { s.patches++ }) }

func (s *store) write(apply func()) {
	s.mu.Lock()
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	if s.takes > 0 {
		pass(s.takes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	s.last = time.Now()
	apply()
	s.changed.Broadcast()
}

// wait waits until n Events were created, but no longer than waitTimeout.
func (s *store) wait(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := false
	alarm := time.AfterFunc(waitTimeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	})
	defer alarm.Stop()
	for s.creates < n {
		if late {
			return errors.New("not all Events were created within " + waitTimeout.String())
		}
		s.changed.Wait()
	}
	return nil
}

// stored returns the number of objects with an Event.
func (s *store) stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}

// outcome returns the counts since began, except losses.
func (s *store) outcome(began time.Time) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return outcome{Writes: s.creates + s.patches, Most: s.most, Last: s.last.Sub(began).Seconds()}
}

// ourEvents is the client that events.NewSink takes.
type ourEvents struct{ *store }

//nolint:unparam // the interface has an error
func (c ourEvents) Create(
	_ context.Context, ev *eventsv1.Event, _ metav1.CreateOptions,
) (*eventsv1.Event, error) {
	c.create(ev.Regarding)
	return ev, nil
}

//nolint:unparam // the interface has an error
func (c ourEvents) Patch(
	context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*eventsv1.Event, error) {
	c.patch()
	return new(eventsv1.Event), nil
}

// recordSink and eventsSink are the sinks for client-go's tools/record and
// tools/events.
type (
	recordSink struct{ *store }
	eventsSink struct{ *store }
)

func (s recordSink) Create(ev *corev1.Event) (*corev1.Event, error) {
	s.create(ev.InvolvedObject)
	return ev, nil
}

func (s recordSink) Update(ev *corev1.Event) (*corev1.Event, error) {
	s.patch()
	return ev, nil
}

func (s recordSink) Patch(ev *corev1.Event, _ []byte) (*corev1.Event, error) { return s.Update(ev) }

func (s eventsSink) Create(_ context.Context, ev *eventsv1.Event) (*eventsv1.Event, error) {
	s.create(ev.Regarding)
	return ev, nil
}

func (s eventsSink) Update(_ context.Context, ev *eventsv1.Event) (*eventsv1.Event, error) {
	s.patch()
	return ev, nil
}

func (s eventsSink) Patch(_ context.Context, ev *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.patch()
	return ev, nil
}
