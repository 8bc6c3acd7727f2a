// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
)

// server is an API server for Events in memory: what it stored, what it was
// asked, and a hook that refuses.
type server struct {
	refuse func(ctx context.Context, w request) error // nil accepts everything

	mu       sync.Mutex
	invalid  []string  // what the validation of an API server would have refused
	requests []request // all, refused ones included
	stored   map[string]*eventsv1.Event
	order    []string
	inFlight int
	most     int // concurrent requests
}

// request is one call of a client.
type request struct {
	at              time.Time
	group, verb     string // "events.k8s.io" or "", "create" or "patch"
	namespace, name string
	object          string // the name of the regarded object; by create only
	reason, note    string
	count           int32
	data            string
	err             error
	stored          bool // also when an error was answered
}

// storedError is an error for a write that was stored, such as an answer that
// comes too late.
type storedError struct{ error }

func (e storedError) Unwrap() error { return e.error }

func (s *server) sink() *events.Sink { return events.NewSink(s.events, s.core) }

func (s *server) events(ns string) eventsFake { return eventsFake{s, ns} }
func (s *server) core(ns string) coreFake     { return coreFake{s, ns} }

type eventsFake struct {
	s  *server
	ns string
}

type coreFake struct {
	s  *server
	ns string
}

func (f eventsFake) Create(ctx context.Context, ev *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	w := request{group: "events.k8s.io", verb: "create", namespace: f.ns, name: ev.Name, object: ev.Regarding.Name, reason: ev.Reason, note: ev.Note, count: 1}
	if ev.Series != nil {
		w.count = ev.Series.Count
	}
	f.s.validate(ev)
	return ev, f.s.do(ctx, w, func() { f.s.put(ev.DeepCopy()) })
}

func (f eventsFake) Patch(
	ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*eventsv1.Event, error) {
	return nil, f.s.patch(ctx, request{group: "events.k8s.io", verb: "patch", namespace: f.ns, name: name, data: string(data)})
}

func (f coreFake) Create(ctx context.Context, ev *corev1.Event, _ metav1.CreateOptions) (*corev1.Event, error) {
	w := request{verb: "create", namespace: f.ns, name: ev.Name, object: ev.InvolvedObject.Name, reason: ev.Reason, note: ev.Message, count: ev.Count}
	stored := func() *eventsv1.Event {
		stored := &eventsv1.Event{
			ObjectMeta: ev.ObjectMeta, EventTime: ev.EventTime, ReportingController: ev.ReportingController,
			ReportingInstance: ev.ReportingInstance, Action: ev.Action, Reason: ev.Reason, Regarding: ev.InvolvedObject,
			Related: ev.Related, Note: ev.Message, Type: ev.Type, DeprecatedCount: ev.Count,
			DeprecatedFirstTimestamp: ev.FirstTimestamp, DeprecatedLastTimestamp: ev.LastTimestamp, DeprecatedSource: ev.Source,
		}
		if ev.Series != nil {
			stored.Series = &eventsv1.EventSeries{Count: ev.Series.Count, LastObservedTime: ev.Series.LastObservedTime}
		}
		return stored.DeepCopy()
	}()
	f.s.validate(stored)
	return ev, f.s.do(ctx, w, func() { f.s.put(stored) })
}

func (f coreFake) Patch(
	ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Event, error) {
	return nil, f.s.patch(ctx, request{verb: "patch", namespace: f.ns, name: name, data: string(data)})
}

func (s *server) put(ev *eventsv1.Event) {
	if s.stored == nil {
		s.stored = map[string]*eventsv1.Event{}
	}
	s.stored[ev.Namespace+"/"+ev.Name] = ev
	s.order = append(s.order, ev.Namespace+"/"+ev.Name)
}

func (s *server) patch(ctx context.Context, w request) error {
	var p struct {
		Series        eventsv1.EventSeries
		Count         int32
		LastTimestamp metav1.Time
	}
	if err := json.Unmarshal([]byte(w.data), &p); err != nil {
		return err
	}
	w.count = p.Series.Count
	s.mu.Lock()
	if p.Series.Count < 2 || p.Series.LastObservedTime.IsZero() {
		s.invalid = append(s.invalid, "series: "+w.data)
	}
	if ev := s.stored[w.namespace+"/"+w.name]; ev != nil {
		w.object, w.reason, w.note = ev.Regarding.Name, ev.Reason, ev.Note
	}
	s.mu.Unlock()
	return s.do(ctx, w, func() {
		if ev := s.stored[w.namespace+"/"+w.name]; ev != nil {
			ev.Series = &p.Series
			if p.Count > 0 {
				ev.DeprecatedCount, ev.DeprecatedLastTimestamp = p.Count, p.LastTimestamp
			}
		}
	})
}

func (s *server) do(ctx context.Context, w request, apply func()) error {
	w.at = time.Now()
	s.mu.Lock()
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	if s.refuse != nil {
		w.err = s.refuse(ctx, w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	w.stored = w.err == nil || errors.As(w.err, new(storedError))
	if w.verb == "create" && w.stored && s.stored[w.namespace+"/"+w.name] != nil {
		w.stored = false
		if w.err == nil {
			w.err = taken(w.name)
		}
	}
	s.requests = append(s.requests, w)
	if w.stored {
		apply()
	}
	return w.err
}

// writes are the requests that were stored.
func (s *server) writes(verb string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(w request) bool {
		return !w.stored || verb != "" && w.verb != verb
	})
}

// asked are all requests, refused ones included.
func (s *server) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// count returns the number of requests of a kind, refused ones included.
func (s *server) count(is func(request) bool) (n int) {
	for _, w := range s.asked() {
		if is(w) {
			n++
		}
	}
	return n
}

// countOf is the number of occurrences that an Event reports.
func countOf(ev *eventsv1.Event) int32 {
	if ev.Series != nil {
		return ev.Series.Count
	}
	return 1
}

// lastSeen is the time of the last occurrence that an Event reports.
func lastSeen(ev *eventsv1.Event) time.Time {
	if ev.Series != nil {
		return ev.Series.LastObservedTime.Time
	}
	return ev.EventTime.Time
}

// dice are thrown by the test and by the workers.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{random: rand.New(rand.NewPCG(seed, 0))} }

func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// concurrent returns the highest number of concurrent requests.
func (s *server) concurrent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// all are the Events stored, in the order of their creation.
func (s *server) all() []*eventsv1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*eventsv1.Event, 0, len(s.order))
	for _, name := range s.order {
		out = append(out, s.stored[name].DeepCopy())
	}
	return out
}
