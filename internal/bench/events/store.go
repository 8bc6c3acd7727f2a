// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The API groups of Events.
const (
	newGroup  = "events.k8s.io"
	coreGroup = ""
)

// store is an API server for Events: it counts the writes, and takes or refuses them as answer says.
type store struct {
	answer func(group string) error // nil takes each at once

	mu               sync.Mutex
	changed          sync.Cond
	creates, patches int
	inFlight, most   int
	objects          map[string]struct{} // whose Event is stored; nil if nobody asks
	awaited          string              // the object whose Event await waits for
}

func newStore() *store {
	s := new(store)
	s.changed.L = &s.mu
	return s
}

func (s *store) create(group, object string) error {
	return s.write(group, func() {
		s.creates++
		if s.objects != nil {
			s.objects[object] = struct{}{}
		}
		if s.awaited != "" && strings.Contains(object, s.awaited) {
			s.awaited = ""
		}
	})
}

func (s *store) patch(group string) error {
	return s.write(group, func() { s.patches++ })
}

func (s *store) write(group string, apply func()) error {
	if s.answer != nil {
		s.mu.Lock()
		s.inFlight++
		s.most = max(s.most, s.inFlight)
		s.mu.Unlock()
		err := s.answer(group)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
		if err != nil {
			return err
		}
	} else {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	apply()
	s.changed.Broadcast()
	return nil
}

// wait returns when n Events were created.
func (s *store) wait(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.creates < n {
		s.changed.Wait()
	}
}

// expect says which object await is to wait for, before a failure of it is recorded.
func (s *store) expect(object string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited = object
}

// await returns when the Event of the expected object was created.
func (s *store) await() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.awaited != "" {
		s.changed.Wait()
	}
}

// stored is of how many objects there is an Event.
func (s *store) stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}

// writes is how many writes were taken so far.
func (s *store) writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.creates + s.patches
}

// peak is how many requests there were at once.
func (s *store) peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// ourEvents and ourCore are the clients that events.NewSink takes.
type (
	ourEvents struct{ *store }
	ourCore   struct{ *store }
)

func (c ourEvents) Create(_ context.Context, ev *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	return ev, c.create(newGroup, ev.Regarding.Name)
}

func (c ourEvents) Patch(
	context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*eventsv1.Event, error) {
	return new(eventsv1.Event), c.patch(newGroup)
}

func (c ourCore) Create(_ context.Context, ev *corev1.Event, _ metav1.CreateOptions) (*corev1.Event, error) {
	return ev, c.create(coreGroup, ev.InvolvedObject.Name)
}

func (c ourCore) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.Event, error) {
	return new(corev1.Event), c.patch(coreGroup)
}

// recordSink and eventsSink are those of client-go's tools/record and tools/events.
type (
	recordSink struct{ *store }
	eventsSink struct{ *store }
)

func (s recordSink) Create(ev *corev1.Event) (*corev1.Event, error) {
	return ev, s.create(coreGroup, ev.InvolvedObject.Name)
}

func (s recordSink) Update(ev *corev1.Event) (*corev1.Event, error) { return ev, s.patch(coreGroup) }

func (s recordSink) Patch(ev *corev1.Event, _ []byte) (*corev1.Event, error) {
	return ev, s.patch(coreGroup)
}

func (s eventsSink) Create(_ context.Context, ev *eventsv1.Event) (*eventsv1.Event, error) {
	return ev, s.create(newGroup, ev.Regarding.Name)
}

func (s eventsSink) Update(_ context.Context, ev *eventsv1.Event) (*eventsv1.Event, error) {
	return ev, s.patch(newGroup)
}

func (s eventsSink) Patch(_ context.Context, ev *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return ev, s.patch(newGroup)
}
