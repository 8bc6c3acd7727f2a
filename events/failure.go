// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/internal/errtree"
)

// reconcile is the action of the Events that report how reconciling went.
const reconcile = "Reconcile"

// Conflicts in a row open a failure after routineTime.
const routineTime = 2 * time.Minute

// Failure reports how reconciling obj went: call it once at the end of each
// reconcile with its error.
//
// The first error is written immediately, as a Warning. Its reason is that of
// [Classify], and its note the text of the error. Repeats are counted. If the
// text changes, a terminal error is written as soon as the object's cap allows,
// and any other error when the pause of the series ends. A nil error ends the
// open failure with one Normal Recovered event, and does nothing when none is
// open. The action of these Events is Reconcile. Do not report the NotFound of
// obj itself: it is gone, and no dependency is missing.
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

// FailureReason is [Recorder.Failure] with a reason of 1 to 128 bytes in place
// of that of [Classify]. It writes a conflict like any other error. A nil err
// records the recovery.
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
	case v.canceled:
		r.locked(func() {
			r.stats.Recorded++
			r.stats.Suppressed++
		})
	default:
		var buf [stackNote]byte
		r.record(&occurrence{
			regarding: obj, identity: identity{eventtype: corev1.EventTypeWarning, reason: v.reason, action: reconcile},
			failure: true, terminal: v.terminal, routine: v.routine,
		}, format(buf[:0], "%v", err))
	}
}

func (r *Recorder) recovered(obj runtime.Object) {
	r.known(obj, func(e *entry, now instant) {
		from := e.lastFailure
		if e.lastFailure, e.conflicted = "", 0; from == "" {
			return
		}
		r.hasten(e, now)
		r.settle(e, now)
		o := occurrence{
			regarding: obj, identity: identity{eventtype: corev1.EventTypeNormal, reason: Recovered, action: reconcile}, recovery: true,
		}
		o.about = r.aboutOf(&o)
		r.stats.Recorded++
		r.count(e, &o, []byte("recovered from "+from), now)
	})
}

// hasten is called when an object fails or recovers. It shortens the pauses
// that the change has made obsolete, so what an object shows last is never
// wrong for longer than one short pause. The next occurrence is another
// episode: a new Event, so that kubectl describe shows it last.
func (r *Recorder) hasten(e *entry, now instant) {
	for s := e.series; s != nil; s = s.older {
		if s.state {
			s.due, s.pause, s.hash = min(s.due, now.add(r.pause)), r.pause, 0
		}
	}
}
