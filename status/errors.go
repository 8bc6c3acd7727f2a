// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These errors of [Writer.Commit] say that another writer was faster, or that
// before is too old. Nothing was written. Test for them with errors.Is.
// apierrors.IsConflict of apimachinery holds for each, as for a conflict of the
// API server: code that requeues on a conflict handles them, too.
var (
	// ErrSuperseded: the stored status was computed from a newer generation
	// than this reconcile acted on, so that the reconcile of that generation
	// has already reported. Commit also returns it for a status that was
	// restored from a backup onto a new object, whose generation starts at 1
	// again. To start over with such a status, reset the generation that was
	// read before you copy the object:
	//
	//	if run.Status.ObservedGeneration > run.Generation {
	//		run.Status.ObservedGeneration = 0 // restored from a backup
	//	}
	//	before := run.DeepCopy()
	//
	// If the CRD has the rules of package status/rules, the API server refuses
	// that write: delete the object and restore it without its status.
	ErrSuperseded error = overtakenError{"superseded", "status: a newer generation is already recorded", nil}
	// ErrStaleRead: before is older than the last write of this Writer.
	// Reconcile again from a newer copy. errors.Is(err, ErrSuperseded) holds
	// for it as well.
	ErrStaleRead error = overtakenError{
		"superseded", "status: before is older than the Writer's own last write", ErrSuperseded,
	}
	// ErrReplaced: the object was deleted and recreated under the same name.
	ErrReplaced error = overtakenError{
		"replaced", "status: the object was recreated under the same name", nil,
	}
	// ErrFieldConflict: since before was read, another writer changed a field
	// of the status, or a condition that this controller owns or sets. It may
	// be another instance of this controller that has taken over. Reconcile
	// again from the stored object.
	ErrFieldConflict error = overtakenError{
		"field_conflict", "status: another writer changed the status", nil,
	}
)

// overtakenError is an error of a race that another writer won. The next
// reconcile decides again.
type overtakenError struct {
	result, text string

	family error // that the error belongs to; nil for none
}

func (e overtakenError) Error() string { return e.text }

func (e overtakenError) Unwrap() error { return e.family }

// Reason is the event reason that package events uses for a conflict.
func (overtakenError) Reason() string { return "Conflict" }

// Status makes the error a conflict for apierrors.IsConflict.
func (e overtakenError) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict,
		Reason: metav1.StatusReasonConflict, Message: e.text,
	}
}

// refusedError is the API server's refusal of a status, which the controller
// wrote. It is not an error of the spec, which the user wrote.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }

// Reason is the event reason of the error.
func (refusedError) Reason() string { return "StatusRefused" }

// Terminal reports false: the user of the object cannot repair its status.
func (refusedError) Terminal() bool { return false }

// isRefused reports whether the API server refuses the content of a patch. An
// object that is too large for it causes a 413, and a 500 if it is too large
// for its store: etcd refuses 1.5 MiB, and its client 2 MiB.
func isRefused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	message := answer.Status().Message
	return apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(message, "request is too large") ||
		strings.Contains(message, "trying to send message larger than max")
}

// isUnanswered reports whether the API server may have done, or may still do,
// the request that failed with err.
func isUnanswered(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || answer.Status().Code >= http.StatusInternalServerError
}

// label is the result for OnCommit.
func label(result Result, err error) string {
	var overtaken overtakenError
	switch {
	case err == nil:
		return string(result)
	case errors.As(err, &overtaken):
		return overtaken.result
	case apierrors.IsConflict(err):
		return "conflict"
	}
	return "error"
}
