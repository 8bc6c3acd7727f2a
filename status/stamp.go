// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stamp is the contract's four fields, to embed inline in a status struct:
//
//	status.Stamp `json:",inline"`
//
// A status may declare the fields itself, under these names or others, and may
// leave out some: see [FieldNames]. An object that was never reconciled has the
// zero Stamp. A Stamp is a plain value: guard it yourself when goroutines share
// one. Generate DeepCopy for the status: otherwise status.DeepCopy() is the
// promoted method of Stamp, which copies only these four fields.
//
// A kind whose apply configurations are generated passes one flag to the
// generator: see package status/applyconfiguration.
type Stamp struct {
	// ObservedGeneration is the metadata.generation of the spec that the status
	// was computed from. It never goes back.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// UpdatedAt is the time of the last write in whole seconds, by the clock of
	// the writer: it goes back where that clock does.
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
	// StartedAt is the first time that the object was running. Once set it
	// stays.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// FinishedAt is the first time that the object was done. Once set it stays,
	// and it is never before StartedAt.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// DeepCopyInto writes a copy that shares nothing with s. Deepcopy code that is
// generated for a status embedding a Stamp calls it. Both pointers must not be
// nil, as in all generated code.
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

// Observe applies the contract to all fields but UpdatedAt, and reports whether
// it changed one:
//
//   - ObservedGeneration becomes generation, which the reconcile read when it
//     began, also on a finished object. If a newer generation is stored,
//     Observe changes nothing and returns [ErrSuperseded].
//   - StartedAt is set once, when Running, to f.StartedAt or to now. A run
//     that is Done and was never seen Running gets it from f.StartedAt only,
//     because the run did not start now.
//   - FinishedAt is set once, when Done, to f.FinishedAt or to now, but
//     never before StartedAt, even if two clocks differ. A run that is Running
//     again after Done keeps both times.
//
// Times are cut to whole seconds, as the API stores them. A zero now, a
// negative generation, an unknown Progress and a nil Stamp are errors, and
// change nothing. Observe allocates only for a time that it sets.
func (s *Stamp) Observe(f Facts, generation int64, now time.Time) (changed bool, err error) {
	switch {
	case s == nil:
		return false, errors.New("status: observe: the Stamp is nil")
	case now.IsZero():
		return false, errors.New("status: observe: now is the zero time; pass time.Now()")
	case f.Progress < Waiting || f.Progress > Done:
		return false, fmt.Errorf("status: observe: Facts.Progress is %d; "+
			"want Waiting, Running or Done", f.Progress)
	case generation < 0:
		return false, fmt.Errorf("status: observe: generation is %d; "+
			"want metadata.generation, 0 or greater", generation)
	case generation < s.ObservedGeneration:
		return false, fmt.Errorf("%w: %d is stored, and this reconcile acted on %d",
			ErrSuperseded, s.ObservedGeneration, generation)
	}
	changed = generation > s.ObservedGeneration
	s.ObservedGeneration = generation
	if s.start(f, now) {
		changed = true
	}
	if s.finish(f, now) {
		changed = true
	}
	return changed, nil
}

// start sets StartedAt, and reports whether it did.
func (s *Stamp) start(f Facts, now time.Time) bool {
	if f.Progress == Waiting || !s.StartedAt.IsZero() {
		return false
	}
	started := wholeSecond(f.StartedAt)
	if started.IsZero() {
		if f.Progress == Done {
			return false // it did not start now
		}
		started = wholeSecond(now)
	}
	isAfterEnd := !s.FinishedAt.IsZero() && started.After(s.FinishedAt.Time)
	if isAfterEnd {
		return false
	}
	s.StartedAt = &started
	return true
}

// finish sets FinishedAt, and reports whether it did.
func (s *Stamp) finish(f Facts, now time.Time) bool {
	if f.Progress != Done || !s.FinishedAt.IsZero() {
		return false
	}
	finished := wholeSecond(f.FinishedAt)
	if finished.IsZero() {
		finished = wholeSecond(now)
	}
	if finished.Before(s.StartedAt) {
		finished = wholeSecond(s.StartedAt.Time)
	}
	s.FinishedAt = &finished
	return true
}

// wholeSecond cuts t as the API server does when it stores a metav1.Time.
func wholeSecond(t time.Time) metav1.Time {
	return metav1.NewTime(t.Truncate(time.Second))
}

// sameSecond compares two times as the API stores them; a nil time and the zero
// time are the same.
func sameSecond(a, b *metav1.Time) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() == b.IsZero()
	}
	return a.Unix() == b.Unix()
}

// Progress says whether the work of an object has begun or ended: Waiting,
// Running or Done. A controller maps its own phases to it. The zero value is
// Waiting.
type Progress int8

// The values of Progress. An object that never runs and never ends, such as a
// template, is always Waiting.
const (
	// Waiting: nothing has run yet.
	Waiting Progress = iota
	// Running: work has begun and has not ended.
	Running
	// Done: work has ended, whether it succeeded, failed or was cancelled.
	Done
)

// Facts is one observation of an object. The zero Facts says that it is
// Waiting.
type Facts struct {
	// Progress says whether the work has begun or ended.
	Progress Progress
	// StartedAt is when the work began, if something else knows it, such as a
	// Job's status.startTime. Zero means when it was first seen Running. It is
	// not used while Waiting, nor once a startedAt is stored.
	StartedAt time.Time
	// FinishedAt is when the work ended, if something else knows it, such as a
	// Job's status.completionTime. Zero means when it was first seen Done. It
	// is not used before Done, nor once a finishedAt is stored.
	FinishedAt time.Time

	_ struct{}
}
