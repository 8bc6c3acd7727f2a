// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/internal/caller"
	"github.com/proompteng/controllerkit/events/internal/errtree"
)

// reconcile is the action of the Events that report how reconciling went.
const reconcile = "Reconcile"

// Failure reports how reconciling obj went: call it once at the end of each
// reconcile with its error.
//
// The first error is written immediately, as a Warning. [Classify] chooses its
// reason, and its note is the text of the error. Repeats are counted, and a
// changed text makes a new Event: the package comment has the rules. A nil
// error ends the open failure with one Normal Recovered event, and does nothing
// when none is open. The action of these Events is Reconcile. Do not report the
// NotFound of obj itself: it is gone, and no dependency is missing.
//
// Two kinds of errors are counted and not written. A context.Canceled says
// nothing about obj, so it neither opens nor ends a failure. A conflict, of the
// API server or of package status, opens a failure only when conflicts have
// gone on for two minutes. A joined error is written if one of its errors is of
// neither kind.
//
// Open failures are kept in memory: a failure from before a restart, or of an
// object that was evicted, gets no Recovered.
func (r *Recorder) Failure(obj runtime.Object, err error) {
	if r.off() {
		return
	}
	r.reconciled(obj, outcomeOf(err), err)
}

// FailureReason is [Recorder.Failure] with a reason of 1 to 128 bytes, which
// replaces the result of [Classify]. It writes a conflict like any other error.
// A nil err records the recovery.
func (r *Recorder) FailureReason(obj runtime.Object, reason string, err error) {
	if r.off() {
		return
	}
	o := outcomeOf(err)
	o.reason = reason
	o.routine = false
	r.reconciled(obj, o, err)
}

// An outcome is what an error says about a reconcile.
type outcome struct {
	reason   string
	canceled bool
	routine  bool // a conflict, which a retry resolves
}

// outcomeOf reads err. The methods of err are the caller's code: if one panics,
// all that is known is that the reconcile failed.
func outcomeOf(err error) (o outcome) {
	o.reason = InternalError
	var panicked error
	defer caller.Catch(err, &panicked)
	reason, _ := Classify(err)
	return outcome{
		reason:   reason,
		canceled: errtree.Canceled(err),
		routine:  errtree.Conflict(err),
	}
}

func (r *Recorder) reconciled(obj runtime.Object, o outcome, err error) {
	switch {
	case err == nil:
		r.recovered(obj)
		return
	case o.canceled:
		r.locked(func() { r.stats.Recorded++ })
		return
	}
	c := call{
		regarding:  obj,
		eventtype:  corev1.EventTypeWarning,
		reason:     o.reason,
		action:     reconcile,
		kind:       failure,
		isConflict: o.routine,
	}
	r.record(&c, caller.Sprintf("%v", err))
}

func (r *Recorder) recovered(obj runtime.Object) {
	id, err := caller.Identify(obj, r.o.Scheme)
	if err != nil {
		return // no failure of such an object is open
	}
	c := call{
		regarding: obj,
		eventtype: corev1.EventTypeNormal,
		reason:    Recovered,
		action:    reconcile,
		kind:      recovery,
	}
	o := r.occurrence(&c, id)
	r.locked(func() { r.engine.recovered(&o) })
}
