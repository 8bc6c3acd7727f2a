// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventstest records events in memory, for the unit tests of controllers.
//
// The fakes of client-go put formatted strings into a channel and block when it is full, so a test that reads too few
// hangs and a test that reads text breaks with each wording. A [Recorder] keeps typed entries and never blocks.
//
//	rec := &eventstest.Recorder{}
//	reconciler := Reconciler{Events: rec}
//	...
//	entries := rec.Entries()
//
// # Rules
//
// A Recorder has the recording methods of events.Recorder and of k8s.io/client-go/tools/events EventRecorder, and [Recorder.Legacy]
// those of tools/record; code under test declares an interface with the methods it uses. Every call is an entry: there are no series and
// no caps. Notes and annotations are formatted, redacted and cut as in a cluster. The zero value is ready to use; all methods are safe
// for concurrent use.
//
// # When not to use it
//
// For what reaches the API server (series, caps, retries) run an events.Recorder on a fake client under testing/synctest. A Recorder
// knows no Scheme: an object without a kind is recorded here and lost in a cluster. Have one test with events.New, the Options that
// the controller has and the clients of a fake clientset, where Flush must return nil.
package eventstest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/internal/cancel"
)

// An Entry is one call that recorded.
type Entry struct {
	Regarding   runtime.Object // as it was passed, not a copy
	Related     runtime.Object // nil when there is none
	Type        string
	Reason      string
	Action      string            // the reason, when the caller gave none
	Note        string            // formatted, redacted and cut to 1024 bytes
	Annotations map[string]string // their values as Note
	Err         error             // what Failure reported; nil for all else
	Terminal    bool              // whether no retry mends Err
	Lost        string            // the cause by which events.Recorder would lose it, such as events.LostRejected; empty otherwise
}

// A Recorder keeps what is recorded. The zero value is ready to use; it must not be copied.
type Recorder struct {
	// Redact is what events.Options.Redact is. Nil means redact.Text.
	Redact func(string) string

	mu      sync.Mutex
	entries []Entry
	open    map[string]string // the reason of the failure of an object that has not recovered
	changed chan struct{}     // closed at the next entry
}

// Eventf adds an entry, as events.Recorder.Eventf would record it.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.add(Entry{Regarding: regarding, Related: related, Type: eventtype, Reason: reason, Action: action, Note: format(note, args)})
}

// AnnotatedEventf is Eventf with annotations.
func (r *Recorder) AnnotatedEventf(
	regarding, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any,
) {
	r.add(Entry{
		Regarding: regarding, Related: related, Annotations: annotations,
		Type: eventtype, Reason: reason, Action: action, Note: format(note, args),
	})
}

// Failure adds a Warning for err, with the reason of events.Classify. A nil err adds a Recovered entry when a failure of obj
// is open, and nothing otherwise; neither does context.Canceled.
func (r *Recorder) Failure(obj runtime.Object, err error) {
	reason, _ := events.Classify(err)
	r.FailureReason(obj, reason, err)
}

// FailureReason is Failure with the caller's reason.
func (r *Recorder) FailureReason(obj runtime.Object, reason string, err error) {
	if cancel.Only(err) {
		return
	}
	id := identity(obj)
	r.mu.Lock()
	from := r.open[id]
	if r.open == nil {
		r.open = make(map[string]string)
	}
	r.open[id] = reason
	if err == nil {
		delete(r.open, id)
	}
	r.mu.Unlock()
	switch {
	case err != nil:
		r.add(Entry{
			Regarding: obj, Type: corev1.EventTypeWarning, Reason: reason, Action: "Reconcile", Note: fmt.Sprint(err),
			Err: err, Terminal: events.Terminal(err),
		})
	case from != "":
		r.add(Entry{
			Regarding: obj, Type: corev1.EventTypeNormal, Reason: events.Recovered, Action: "Reconcile", Note: "recovered from " + from,
		})
	}
}

// Forget closes the failure of obj that is open, as events.Recorder does: a nil error that comes thereafter adds nothing.
func (r *Recorder) Forget(obj runtime.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, identity(obj))
}

// Entries returns a copy of what was recorded, in order; empty when nothing was.
func (r *Recorder) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// Reasons are the reasons of the entries, in order.
func (r *Recorder) Reasons() []string {
	entries := r.Entries()
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Reason
	}
	return out
}

// Wait returns the entries as soon as there are n, or what there is and an error when ctx ends before.
func (r *Recorder) Wait(ctx context.Context, n int) ([]Entry, error) {
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
			return entries, fmt.Errorf("eventstest: %d of %d events were recorded: %w", len(entries), n, context.Cause(ctx))
		}
	}
}

func (r *Recorder) add(e Entry) {
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
	e.Lost = lost(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func lost(e Entry) string {
	switch {
	case isNil(e.Regarding):
		return events.LostNoReference
	case e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning,
		e.Reason == "", len(e.Reason) > 128, len(e.Action) > 128:
		return events.LostRejected
	}
	return ""
}

func format(note string, args []any) string {
	if len(args) == 0 {
		return strings.ReplaceAll(note, "%%", "%")
	}
	return fmt.Sprintf(note, args...)
}

func isNil(obj runtime.Object) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// identity is the uid of obj, or whatever else tells it apart.
func identity(obj runtime.Object) string {
	if isNil(obj) {
		return ""
	}
	m, err := apimeta.Accessor(obj)
	if err != nil {
		return fmt.Sprint(obj)
	}
	if uid := m.GetUID(); uid != "" {
		return string(uid)
	}
	return fmt.Sprintf("%T/%s/%s", obj, m.GetNamespace(), m.GetName())
}
