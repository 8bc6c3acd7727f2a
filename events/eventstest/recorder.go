// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventstest records events in memory for unit tests of controllers.
//
// The fakes of client-go put formatted strings into a channel and block when it
// is full. So a test that reads too few of them hangs, and a test that compares
// text breaks when the wording changes. A [Recorder] keeps typed entries and
// never blocks.
//
//	rec := &eventstest.Recorder{}
//	reconciler := Reconciler{Events: rec}
//	...
//	entries := rec.Entries()
//
// # Rules
//
// A Recorder has the recording methods of events.Recorder and of
// k8s.io/client-go/tools/events EventRecorder. [Recorder.Legacy] has the
// methods of tools/record. Code under test declares an interface with the
// methods it uses. Every call that records is an entry, without series and
// caps. Notes and annotations are formatted, redacted and cut as in a cluster.
// An entry that a cluster would not get has its cause in Lost: an object from
// an informer carries no kind, so a Recorder without the controller's Scheme
// marks it as events.LostNoReference.
//
// The zero value is ready to use. Set Redact and Scheme before the first call.
// All methods are safe for concurrent use. A nil *Recorder records nothing, but
// RunWith still calls run.
//
// # When not to use it
//
// For what reaches the API server (series, caps, retries) run an
// events.Recorder on a fake client under testing/synctest. Write one test with
// events.New, the controller's Options and a fake clientset, and require that
// Flush returns nil.
package eventstest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/internal/caller"
	"github.com/proompteng/controllerkit/events/internal/errtree"
	"github.com/proompteng/controllerkit/events/redact"
)

var _ events.Emitter = (*Recorder)(nil)

// A Recorder keeps what is recorded. The zero value is ready to use; it must
// not be copied.
type Recorder struct {
	// Redact cleans notes and annotations, as events.Options.Redact does. Nil
	// means redact.Text.
	Redact func(string) string
	// Scheme is what events.Options.Scheme is: it finds the kinds of objects
	// that carry none.
	Scheme interface {
		ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error)
	}

	mu      sync.Mutex
	entries []Entry
	open    map[caller.Key]string // the reason of the failure of an object that has not recovered
	changed chan struct{}         // closed at the next entry
}

// An Entry is one call that recorded.
type Entry struct {
	Regarding   runtime.Object    // the passed object, not a copy
	Type        string            // Normal or Warning, or what the caller gave
	Reason      string            // what the caller gave, or the result of events.Classify
	Action      string            // the reason, when the caller gave none
	Note        string            // formatted, redacted and cut to 1024 bytes
	Annotations map[string]string // their values as Note
	// Err is the error passed to Failure or FailureReason; nil for other calls.
	Err      error
	Terminal bool // whether a retry of the same inputs fails the same way
	// Lost is why events.Recorder would lose it, such as events.LostRejected;
	// empty if it would not.
	Lost string
}

// Eventf adds an entry, as events.Recorder.Eventf would record it.
func (r *Recorder) Eventf(
	regarding, related runtime.Object,
	eventtype, reason, action, note string,
	args ...any,
) {
	r.add(Entry{
		Regarding: regarding,
		Type:      eventtype,
		Reason:    reason,
		Action:    action,
		Note:      caller.Notef(note, args...),
	})
}

// Failure adds a Warning for err, with the reason of events.Classify. A nil err
// adds a Recovered entry when a failure of obj is open, and nothing otherwise.
// An entry with a cause in Lost opens no failure. context.Canceled and
// conflicts add nothing: in a cluster a conflict is a failure only when it goes
// on for minutes.
func (r *Recorder) Failure(obj runtime.Object, err error) {
	if holds(errtree.Conflict, err) {
		return
	}
	reason, _ := events.Classify(err)
	r.FailureReason(obj, reason, err)
}

// holds calls is, which calls methods of err. It is false where one panics.
func holds(is func(error) bool, err error) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return is(err)
}

// FailureReason is Failure with the caller's reason.
func (r *Recorder) FailureReason(obj runtime.Object, reason string, err error) {
	switch {
	case r == nil, holds(errtree.Canceled, err):
		return
	case err == nil:
		from := r.end(obj)
		if from != "" {
			r.keep(Entry{
				Regarding: obj,
				Type:      corev1.EventTypeNormal,
				Reason:    events.Recovered,
				Action:    "Reconcile",
				Note:      "recovered from " + from,
			})
		}
		return
	}
	e := Entry{
		Regarding: obj,
		Type:      corev1.EventTypeWarning,
		Reason:    reason,
		Action:    "Reconcile",
		Note:      caller.Sprintf("%v", err),
		Err:       err,
		Terminal:  events.IsTerminal(err),
	}
	e.Lost = r.lost(e)
	if e.Lost == "" {
		r.begin(obj, reason)
	}
	r.keep(e)
}

// begin opens a failure of obj. The methods of obj and the Scheme are the
// caller's code, so the lock is not held for them.
func (r *Recorder) begin(obj runtime.Object, reason string) {
	id, _ := caller.Identify(obj, r.Scheme)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = make(map[caller.Key]string)
	}
	r.open[id] = reason
}

// end closes the failure of obj and returns its reason; "" if none is open.
func (r *Recorder) end(obj runtime.Object) (from string) {
	id, _ := caller.Identify(obj, r.Scheme)
	r.mu.Lock()
	defer r.mu.Unlock()
	from = r.open[id]
	delete(r.open, id)
	return from
}

// Entries returns a copy of the recorded entries, in order.
func (r *Recorder) Entries() []Entry {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// Reasons returns the reasons of the entries, in order.
func (r *Recorder) Reasons() []string {
	entries := r.Entries()
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Reason
	}
	return out
}

// Reset forgets all entries and open failures.
func (r *Recorder) Reset() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = nil
	r.open = nil
}

// RunWith calls run with ctx and returns its error, as events.Recorder.RunWith
// does.
func (r *Recorder) RunWith(ctx context.Context, run func(ctx context.Context) error) error {
	return run(ctx)
}

// Wait returns the entries as soon as there are n. If ctx ends first, it
// returns the entries so far and an error.
func (r *Recorder) Wait(ctx context.Context, n int) ([]Entry, error) {
	if r == nil {
		r = &Recorder{}
	}
	for {
		r.mu.Lock()
		entries := slices.Clone(r.entries)
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if len(entries) >= n {
			return entries, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return entries, fmt.Errorf("events/eventstest: wait: %d of %d events were recorded: %w",
				len(entries), n, context.Cause(ctx))
		}
	}
}

func (r *Recorder) add(e Entry) {
	if r != nil {
		e.Lost = r.lost(e)
		r.keep(e)
	}
}

func (r *Recorder) keep(e Entry) {
	if e.Action == "" {
		e.Action = e.Reason
	}
	clean := r.Redact
	if clean == nil {
		clean = redact.Text
	}
	e.Note = redact.Note(e.Note, clean)
	if len(e.Annotations) > 0 {
		e.Annotations = maps.Clone(e.Annotations)
		for k, v := range e.Annotations {
			e.Annotations[k] = redact.Note(v, clean)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// lost returns why a cluster would not get e.
func (r *Recorder) lost(e Entry) string {
	_, err := caller.Reference(e.Regarding, r.Scheme)
	if err != nil {
		return events.LostNoReference
	}
	if caller.Check(e.Type, e.Reason, e.Action, e.Annotations) != nil {
		return events.LostRejected
	}
	return ""
}
