// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func answer(code int32, reason metav1.StatusReason, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Details: details}}
}

func TestNextStep(t *testing.T) {
	terminating := &metav1.StatusDetails{Kind: "events", Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	router := &metav1.StatusDetails{Kind: "events", Causes: []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}}
	for name, tc := range map[string]struct {
		reason        string
		err           error
		create, patch step
	}{
		"Conflict":      {"Another name is free. An update has no name to change.", answer(409, metav1.StatusReasonAlreadyExists, nil), rename, waitNamespace},
		"Expired":       {"The Event has outlived its TTL. A create names none.", answer(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "events", Name: "a.1"}), reject, recreate},
		"NoGroup":       {"The router answers.", answer(404, metav1.StatusReasonNotFound, router), otherService, otherService},
		"NoNamespace":   {"It is gone, not the Event.", answer(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "namespaces", Name: "runs"}), leave, leave},
		"Terminating":   {"A 403 without a missing permission.", answer(403, metav1.StatusReasonForbidden, terminating), leave, leave},
		"Forbidden":     {"RBAC may grant the other group.", answer(403, metav1.StatusReasonForbidden, nil), otherGroup, otherGroup},
		"Invalid":       {"It will not get better.", answer(422, metav1.StatusReasonInvalid, nil), reject, reject},
		"BadRequest":    {"As a webhook denies by default.", answer(400, metav1.StatusReasonBadRequest, nil), reject, reject},
		"TooLarge":      {"It will not get smaller.", answer(413, metav1.StatusReasonRequestEntityTooLarge, nil), reject, reject},
		"429":           {"The server asks for time.", answer(429, metav1.StatusReasonTooManyRequests, nil), waitServer, waitServer},
		"503":           {"It is overloaded.", answer(503, metav1.StatusReasonServiceUnavailable, nil), waitServer, waitServer},
		"502":           {"A proxy finds no server.", answer(502, "", nil), waitServer, waitServer},
		"401":           {"The token has expired.", answer(401, metav1.StatusReasonUnauthorized, nil), waitServer, waitServer},
		"500":           {"As a webhook that fails.", answer(500, metav1.StatusReasonInternalError, nil), waitNamespace, waitNamespace},
		"504":           {"As a webhook that hangs.", answer(504, metav1.StatusReasonTimeout, nil), waitNamespace, waitNamespace},
		"Deadline":      {"As a webhook that hangs for longer.", fmt.Errorf("post: %w", context.DeadlineExceeded), waitNamespace, waitNamespace},
		"URLTimeout":    {"As the client says it.", &url.Error{Op: "Post", Err: context.DeadlineExceeded}, waitNamespace, waitNamespace},
		"NoConnection":  {"No namespace has one.", &url.Error{Op: "Post", Err: errors.New("connection refused")}, waitServer, waitServer},
		"NilAPIStatus":  {"A typed nil has no code.", (*apierrors.StatusError)(nil), waitServer, waitServer},
		"UnknownReason": {"It may get better.", answer(409, metav1.StatusReasonConflict, nil), waitNamespace, waitNamespace},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.create, nextStep(tc.err, true), tc.reason)
			assert.Equal(t, tc.patch, nextStep(tc.err, false), tc.reason)
		})
	}
}

// FuzzNextStep: no answer panics, none but success is done, and the answer
// decides alone.
func FuzzNextStep(f *testing.F) {
	f.Add(int32(404), "NotFound", "events", "", "UnexpectedServerResponse", true)
	f.Add(int32(0), "", "", "", "", false)
	f.Add(int32(http.StatusForbidden), "Forbidden", "events", "a", string(corev1.NamespaceTerminatingCause), false)
	f.Fuzz(func(t *testing.T, code int32, reason, kind, name, cause string, create bool) {
		details := &metav1.StatusDetails{Kind: kind, Name: name, Causes: []metav1.StatusCause{{Type: metav1.CauseType(cause)}}}
		if kind == "" {
			details = nil
		}
		err := answer(code, metav1.StatusReason(reason), details)
		got := nextStep(err, create)
		assert.NotEqual(t, done, got)
		assert.LessOrEqual(t, got, waitServer)
		assert.Equal(t, got, nextStep(fmt.Errorf("wrapped: %w", err), create))
		assert.True(t, got != recreate || !create, "a create has nothing to recreate")
		_ = explain(err, strings.ToLower)
	})
}
