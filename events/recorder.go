// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"errors"
	"hash/maphash"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/internal/caller"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/internal/isnil"
)

// An Emitter reports how reconciling went. It is what a reconciler needs of a
// [Recorder], which implements it, as eventstest.Recorder does for tests.
type Emitter interface {
	// Failure reports how reconciling obj went: call it once at the end of each
	// reconcile with its error. A nil error records the recovery.
	Failure(obj runtime.Object, err error)
	// Eventf records an Event about regarding, as the method of
	// k8s.io/client-go/tools/events EventRecorder does.
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// A Recorder records Events about objects and never blocks on the API server.
// Make one with [New] for a process. All methods are safe for concurrent use. A
// nil *Recorder records nothing. It must not be copied.
type Recorder struct {
	*engine

	controller string
}

var _ Emitter = (*Recorder)(nil)

// New returns a Recorder that writes to sink as controller, which becomes the
// reportingController of its Events: a qualified name such as
// "agents.example.com/agentrun". It starts nothing: events are kept, within
// MaxObjects, until [Recorder.RunWith] or [Recorder.Flush] writes them. A sink
// without a client, a name the API server refuses and an option out of range
// are errors. New reports all of them.
func New(sink *Sink, controller string, o Options) (*Recorder, error) {
	if err := errors.Join(sink.check(), checkController(controller), o.complete()); err != nil {
		return nil, err
	}
	return &Recorder{engine: newEngine(sink, controller, o), controller: controller}, nil
}

// For returns a Recorder that records as another controller, a qualified name
// as in [New]. Both share everything else: caps, workers, the memory and Stats.
// RunWith one of them.
func (r *Recorder) For(controller string) (*Recorder, error) {
	err := checkController(controller)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, nil //nolint:nilnil // a nil Recorder records nothing
	}
	return &Recorder{engine: r.engine, controller: controller}, nil
}

// Eventf records an Event about regarding. The Recorder writes the first of a
// series immediately, or as soon as the caps allow. It counts repeats. A
// changed note makes a new Event, which counts the repeats since the last write
// too: the package comment has the rules.
//
// eventtype is Normal or Warning. reason is 1 to 128 bytes, action at most 128,
// and an empty action becomes the reason. related may be nil. A related object
// whose kind is unknown is left out. note is a format of package fmt; without
// args only %% is replaced, by %. An event that cannot be recorded is counted
// in [Stats] by its cause and logged.
func (r *Recorder) Eventf(
	regarding, related runtime.Object, eventtype, reason, action, note string, args ...any,
) {
	if r.off() {
		return
	}
	c := call{regarding: regarding, related: related, eventtype: eventtype, reason: reason, action: action}
	r.record(&c, caller.Notef(note, args...))
}

// off reports whether r was not made by New, or is disabled.
func (r *Recorder) off() bool { return r == nil || r.engine == nil || r.o.Disabled }

// A call is a call of a recording method.
type call struct {
	regarding, related        runtime.Object
	annotations               map[string]string
	eventtype, reason, action string
	kind                      kind
	isConflict                bool
}

// maxText is the length of the text that is kept: redact.Note looks at 4 KiB,
// and whether there is more.
const maxText = 4<<10 + 1

// record counts c, whose note is text.
func (r *Recorder) record(c *call, text string) {
	if r.off() {
		return
	}
	c.action = cmp.Or(c.action, c.reason)
	id, err := caller.Identify(c.regarding, r.o.Scheme)
	if err != nil {
		r.discard(LostNoReference, err)
		return
	}
	err = caller.Check(c.eventtype, c.reason, c.action, c.annotations)
	if err != nil {
		r.discard(LostRejected, err)
		return
	}
	text = text[:min(len(text), maxText)]
	o := r.occurrence(c, id)
	o.hash = maphash.String(r.seed, text)
	if r.counted(&o) {
		return
	}
	ref, err := caller.Reference(c.regarding, r.o.Scheme)
	if err != nil {
		r.discard(LostNoReference, err)
		return
	}
	o.ref = &ref
	o.text = r.clean(text)
	o.annotations = r.cleanAll(c.annotations)
	o.isClean = true
	r.counted(&o)
}

// clean returns text as an Event shows it: without credentials. It pins no
// longer text.
func (e *engine) clean(text string) string {
	return strings.Clone(redact.Note(text, e.o.Redact))
}

func (e *engine) cleanAll(annotations map[string]string) map[string]string {
	if len(annotations) == 0 {
		return nil
	}
	all := make(map[string]string, len(annotations))
	for name, value := range annotations {
		all[name] = e.clean(value)
	}
	return all
}

// occurrence returns what the engine needs to know of c. It calls the caller's
// code.
func (r *Recorder) occurrence(c *call, id caller.Key) occurrence {
	return occurrence{
		identity: identity{
			controller: r.controller,
			eventtype:  c.eventtype,
			reason:     c.reason,
			action:     c.action,
			kind:       c.kind,
		},
		key:        id,
		about:      r.aboutOf(c.regarding, c.related),
		isConflict: c.isConflict,
	}
}

// aboutOf returns the other references of an Event. A related object that
// cannot be referred to is left out.
func (r *Recorder) aboutOf(regarding, related runtime.Object) (a about) {
	ref, ok := regarding.(*corev1.ObjectReference)
	if ok {
		a.fieldPath = ref.FieldPath
	}
	if !isnil.Is(related) {
		a.related, _ = caller.Reference(related, r.o.Scheme)
		a.related.Name = r.clean(a.related.Name)
	}
	return a
}

// counted reports whether the engine has counted o.
func (r *Recorder) counted(o *occurrence) (ok bool) {
	r.locked(func() { ok = r.engine.record(o) }) // in the order of the calls: no series ends before it begins
	return ok
}

// discard counts an occurrence that cannot be recorded.
func (r *Recorder) discard(cause string, err error) {
	detail := err.Error()
	r.locked(func() {
		r.stats.Recorded++
		r.lose(cause, 1, detail)
	})
}

const afterStart = "recorded after RunWith had returned"
