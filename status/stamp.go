// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrSuperseded says that the stored status was computed from a newer generation than this reconcile acted on. Nothing
// was written; the reconcile of the newer generation has already told more. It also stops a status restored from a
// backup onto an object whose generation began again at 1: delete the object, then restore it without its status.
var ErrSuperseded error = overtakenError("status: a newer generation is already recorded")

// overtakenError is a sentinel of what no one did wrong: somebody else was first, and the next look at the object decides anew.
type overtakenError string

func (e overtakenError) Error() string { return string(e) }

// Reason is the one that package events reports an API server's conflict under, too.
func (overtakenError) Reason() string { return "Conflict" }

// Stamp is the contract's four fields, to embed inline in a status struct:
//
//	status.Stamp `json:",inline"`
//
// A status that has fields of these names and types, or others given by [Names], needs no embedding. The zero Stamp is
// that of an object nobody has reconciled. A Stamp is a plain value: guard it yourself when goroutines share one.
type Stamp struct {
	// ObservedGeneration is the metadata.generation of the spec that the status was computed from. It never goes back.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// UpdatedAt is the time of the last write, by the clock of the writer: it goes back where that clock does.
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
	// StartedAt is the first time that the object was running. Once set it stays.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// FinishedAt is the first time that the object was done. Once set it stays, and it is never before StartedAt.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// DeepCopyInto writes a copy that shares nothing with s. Deepcopy code that is generated for a status embedding a Stamp
// calls it. Both pointers must not be nil, as in all generated code.
func (s *Stamp) DeepCopyInto(out *Stamp) {
	*out = *s
	out.UpdatedAt = s.UpdatedAt.DeepCopy()
	out.StartedAt = s.StartedAt.DeepCopy()
	out.FinishedAt = s.FinishedAt.DeepCopy()
}

// DeepCopy returns a copy that shares nothing with s, and nil for nil.
func (s *Stamp) DeepCopy() *Stamp {
	if s == nil {
		return nil
	}
	out := new(Stamp)
	s.DeepCopyInto(out)
	return out
}

// Observe applies the contract to all fields but UpdatedAt, and reports whether it changed one:
//
//   - ObservedGeneration becomes generation, the one that was read when the reconcile began, also on a finished object.
//     If a newer one is stored, Observe changes nothing and returns [ErrSuperseded].
//   - StartedAt is set once, when Running, to f.StartedAt or else to now. A run that is Done and was never seen Running
//     gets it from f.StartedAt only: now would be an invented run of no length.
//   - FinishedAt is set once, when Done, to f.FinishedAt or else to now, but never before StartedAt, however far the
//     clocks are apart. A run that is Running again after Done keeps both times.
//
// Times are cut to whole seconds, as the API stores them. A zero now, a negative generation, an unknown Progress and a
// nil Stamp are errors, and change nothing. Observe allocates only for a time that it sets.
func (s *Stamp) Observe(f Facts, generation int64, now time.Time) (changed bool, err error) {
	switch {
	case s == nil:
		return false, errors.New("status: Observe of a nil Stamp")
	case now.IsZero():
		return false, errors.New("status: now is the zero time; pass time.Now()")
	case f.Progress < Waiting || f.Progress > Done:
		return false, fmt.Errorf("status: Facts.Progress is %d; want Waiting, Running or Done", f.Progress)
	case generation < 0:
		return false, fmt.Errorf("status: generation %d is negative", generation)
	case generation < s.ObservedGeneration:
		return false, superseded(s.ObservedGeneration, generation)
	}
	if generation > s.ObservedGeneration {
		s.ObservedGeneration, changed = generation, true
	}
	if at := f.started(now); s.StartedAt.IsZero() && !at.IsZero() && (s.FinishedAt.IsZero() || !at.After(s.FinishedAt.Time)) {
		s.StartedAt, changed = new(at), true
	}
	if at := f.finished(now); s.FinishedAt.IsZero() && !at.IsZero() {
		if !s.StartedAt.IsZero() && at.Before(s.StartedAt) {
			at = wholeSecond(s.StartedAt.Time)
		}
		s.FinishedAt, changed = new(at), true
	}
	return changed, nil
}

func superseded(stored, generation int64) error {
	return fmt.Errorf("%w: %d is stored, and this reconcile acted on %d", ErrSuperseded, stored, generation)
}

// wholeSecond cuts t as the API server does when it stores a metav1.Time.
func wholeSecond(t time.Time) metav1.Time {
	return metav1.NewTime(t.Truncate(time.Second))
}

// sameSecond compares two times as the API stores them; a nil time and the zero time are the same.
func sameSecond(a, b *metav1.Time) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() == b.IsZero()
	}
	return a.Unix() == b.Unix()
}
