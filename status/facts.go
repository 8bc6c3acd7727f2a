// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Progress is what the contract needs to know of a phase; every kind keeps phases of its own. The zero value is Waiting.
type Progress int8

// The three kinds of phase. A kind that never runs and never ends, such as a template, is always Waiting.
const (
	// Waiting: nothing has run yet.
	Waiting Progress = iota
	// Running: work has begun and has not ended.
	Running
	// Done: the phase is terminal, whether it succeeded, failed or was cancelled.
	Done
)

// Facts is one observation of an object. The zero Facts says that it is Waiting.
type Facts struct {
	// Progress is the kind of phase that the object is in.
	Progress Progress
	// StartedAt is when the work began, if something else knows it, such as a Job's status.startTime. Zero means when
	// it was first seen Running. It is not used while Waiting, nor once a startedAt is stored.
	StartedAt time.Time
	// FinishedAt is when the work ended, if something else knows it, such as a Job's status.completionTime. Zero means
	// when it was first seen Done. It is not used before Done, nor once a finishedAt is stored.
	FinishedAt time.Time

	_ struct{}
}

// started is the time that f gives for startedAt; zero for none.
func (f Facts) started(now time.Time) metav1.Time {
	switch {
	case f.Progress == Waiting:
		return metav1.Time{}
	case f.Progress == Running && f.StartedAt.IsZero():
		return wholeSecond(now)
	}
	return wholeSecond(f.StartedAt)
}

// finished is the time that f gives for finishedAt; zero for none.
func (f Facts) finished(now time.Time) metav1.Time {
	switch {
	case f.Progress != Done:
		return metav1.Time{}
	case f.FinishedAt.IsZero():
		return wholeSecond(now)
	}
	return wholeSecond(f.FinishedAt)
}
