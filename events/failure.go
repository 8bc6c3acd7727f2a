// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/internal/cancel"
)

// reconcile is the action of the Events that report how reconciling went.
const reconcile = "Reconcile"

// Failure reports how reconciling obj went: call it once at the end of each reconcile with its error.
//
// An error becomes a Warning with the reason that [Classify] gives it and the error's text as note. A terminal one is written whenever
// its text changes, within the object's cap; any other once, then as a series. A nil error ends what is open with one Normal Recovered
// event, and is free when nothing is. A reconcile that was cancelled says nothing about obj: a context.Canceled, and errors joined that
// all are, is counted as suppressed and neither opens nor ends a failure. Leave out a conflict that the next try mends, by if
// !apierrors.IsConflict(err): it is written as any error is.
//
// What is open is kept in memory: a failure from before a restart, or of an object that has left (see Options.MaxObjects), gets
// no Recovered.
func (r *Recorder) Failure(obj runtime.Object, err error) {
	if r == nil || r.o.Disabled {
		return
	}
	if err == nil {
		r.recovered(obj)
		return
	}
	reason, terminal := Classify(err)
	r.failed(obj, reason, terminal, err)
}

// FailureReason is Failure for a caller that knows the reason better than [Classify].
func (r *Recorder) FailureReason(obj runtime.Object, reason string, err error) {
	if r == nil || r.o.Disabled {
		return
	}
	if err == nil {
		r.recovered(obj)
		return
	}
	r.failed(obj, reason, Terminal(err), err)
}

func (r *Recorder) failed(obj runtime.Object, reason string, terminal bool, err error) {
	if cancel.Only(err) {
		r.mu.Lock()
		defer r.unlock()
		r.stats.Recorded++
		r.suppress(1)
		return
	}
	r.record(occurrence{
		regarding: obj, eventtype: corev1.EventTypeWarning, reason: reason, action: reconcile, err: err,
		failure: true, terminal: terminal,
	})
}

func (r *Recorder) recovered(obj runtime.Object) {
	k, err := identify(obj, r.o.Scheme)
	if err != nil {
		return
	}
	now := r.now()
	r.mu.Lock()
	e := r.entries[k]
	if e == nil || e.lastFailure == "" {
		r.mu.Unlock()
		return
	}
	from := e.lastFailure
	e.lastFailure = ""
	r.hasten(e, true, now)
	for s := e.series; s != nil; s = s.older {
		if s.open {
			// The next failure is another episode: a new Event, whatever its note.
			s.open, s.hash = false, 0
		}
	}
	r.settle(e, now)
	r.unlock()
	r.record(occurrence{
		regarding: obj, eventtype: corev1.EventTypeNormal, reason: Recovered, action: reconcile,
		note: "recovered from " + from, verbatim: true,
	})
}

// hasten shortens the pauses that a change of state has made obsolete: after a recovery those of the failures, after a
// failure that of the recovery. What an object shows last is then never wrong for longer than one short pause.
func (r *Recorder) hasten(e *entry, failures bool, now time.Duration) {
	for s := e.series; s != nil; s = s.older {
		if s.open == failures && (failures || s.reason == Recovered) {
			s.due = min(s.due, now+r.slack)
		}
	}
}
