// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/internal/errtree"
)

// reconcile is the action of the Events that report how reconciling went.
const reconcile = "Reconcile"

// Failure reports how reconciling obj went: call it once at the end of each
// reconcile with its error.
//
// The first error is written immediately, as a Warning. [Classify] chooses its
// reason, and its note is the text of the error. Repeats are counted. If the
// text changes, the last text is written when the pause of the series ends. For
// a terminal error, and after a change of metadata.generation, it is written as
// soon as the object's cap allows, but at most three pauses in a row end early
// for texts that never repeat. A nil error ends the open failure with one
// Normal Recovered event, and does nothing when none is open. The action of
// these Events is Reconcile. Do not report the NotFound of obj itself: it is
// gone, and no dependency is missing.
//
// Two kinds of errors are counted as suppressed. A context.Canceled says
// nothing about obj, so it neither opens nor ends a failure. A conflict, of the
// API server or of package status, opens a failure only when conflicts have
// gone on for two minutes. Joined errors are suppressed only if each of them
// is.
//
// Open failures are kept in memory: a failure from before a restart, or of an
// object that was evicted (see Options.MaxObjects), gets no Recovered.
func (r *Recorder) Failure(obj runtime.Object, err error) {
	if r.off() {
		return
	}
	r.outcome(obj, judge(err), err)
}

// FailureReason is [Recorder.Failure] with a reason of 1 to 128 bytes, which
// replaces the result of [Classify]. It writes a conflict like any other error.
// A nil err records the recovery.
func (r *Recorder) FailureReason(obj runtime.Object, reason string, err error) {
	if r.off() {
		return
	}
	v := judge(err)
	v.reason = reason
	v.routine = false
	r.outcome(obj, v, err)
}

// A verdict is what an error says about a reconcile.
type verdict struct {
	reason   string
	canceled bool
	terminal bool // a retry of the same inputs fails the same way
	routine  bool // a conflict, which a retry resolves
}

// judge reads err. The methods of err are the caller's code: if one panics, all
// that is known is that the reconcile failed.
func judge(err error) (v verdict) {
	v.reason = InternalError
	var panicked error
	defer catch(err, &panicked)
	reason, terminal := Classify(err)
	return verdict{
		reason:   reason,
		canceled: errtree.Canceled(err),
		terminal: terminal,
		routine:  reason == Conflict && errtree.Conflict(err),
	}
}

func (r *Recorder) outcome(obj runtime.Object, v verdict, err error) {
	switch {
	case err == nil:
		r.recovered(obj)
		return
	case v.canceled:
		r.locked(r.book.suppressed)
		return
	}
	c := call{
		regarding: obj, eventtype: corev1.EventTypeWarning, reason: v.reason, action: reconcile,
		kind: failure, terminal: v.terminal,
	}
	if v.routine {
		c.kind = conflict
	}
	r.record(&c, format("%v", err))
}

func (r *Recorder) recovered(obj runtime.Object) {
	id, err := r.identify(obj)
	c := call{
		regarding: obj,
		eventtype: corev1.EventTypeNormal,
		reason:    Recovered,
		action:    reconcile,
		kind:      recovery,
	}
	o := r.occurrence(&c, id)
	r.locked(func() {
		if r.isKnown(err) {
			r.book.recovered(r.now(), &o)
		}
	})
}
