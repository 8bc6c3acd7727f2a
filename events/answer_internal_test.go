// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func answerOf(code int32, reason metav1.StatusReason, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Details: details}}
}

func TestRead(t *testing.T) {
	terminating := &metav1.StatusDetails{Kind: "events", Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	router := &metav1.StatusDetails{Kind: "events", Name: "a.1", Causes: []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}}
	for name, tc := range map[string]struct {
		reason        string
		err           error
		create, patch reply
	}{
		"Conflict":      {"Another name is free. An update has no name to change.", answerOf(409, metav1.StatusReasonAlreadyExists, nil), nameTaken, namespaceFails},
		"Expired":       {"The Event has outlived its TTL. A create needs none: nothing serves it.", answerOf(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "events", Name: "a.1"}), groupRefused, eventGone},
		"NoGroup":       {"A 404 of the router means that the group is not served.", answerOf(404, metav1.StatusReasonNotFound, router), groupRefused, groupRefused},
		"NoAnswer":      {"A page of a proxy says nothing of the group.", answerOf(503, metav1.StatusReasonServiceUnavailable, router), serverFails, serverFails},
		"OtherKind":     {"Only a 404 says that a namespace is gone.", answerOf(500, metav1.StatusReasonInternalError, &metav1.StatusDetails{Kind: "namespaces", Name: "runs"}), namespaceFails, namespaceFails},
		"NoNamespace":   {"It is gone, not the Event.", answerOf(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "namespaces", Name: "runs"}), namespaceGone, namespaceGone},
		"Terminating":   {"A 403 without a missing permission.", answerOf(403, metav1.StatusReasonForbidden, terminating), namespaceGone, namespaceGone},
		"Forbidden":     {"RBAC may grant the other group.", answerOf(403, metav1.StatusReasonForbidden, nil), groupRefused, groupRefused},
		"Invalid":       {"It will not get better.", answerOf(422, metav1.StatusReasonInvalid, nil), rejected, rejected},
		"BadRequest":    {"As a webhook denies by default.", answerOf(400, metav1.StatusReasonBadRequest, nil), rejected, rejected},
		"TooLarge":      {"It will not get smaller.", answerOf(413, metav1.StatusReasonRequestEntityTooLarge, nil), rejected, rejected},
		"429":           {"The server asks for time.", answerOf(429, metav1.StatusReasonTooManyRequests, nil), serverFails, serverFails},
		"503":           {"An overloaded server takes no write at all.", answerOf(503, metav1.StatusReasonServiceUnavailable, nil), serverFails, serverFails},
		"502":           {"A proxy finds no server.", answerOf(502, "", nil), serverFails, serverFails},
		"401":           {"The token has expired.", answerOf(401, metav1.StatusReasonUnauthorized, nil), serverFails, serverFails},
		"500":           {"As a webhook that fails.", answerOf(500, metav1.StatusReasonInternalError, nil), namespaceFails, namespaceFails},
		"504":           {"As a webhook that hangs.", answerOf(504, metav1.StatusReasonTimeout, nil), namespaceFails, namespaceFails},
		"Deadline":      {"As a webhook that hangs for longer.", fmt.Errorf("post: %w", context.DeadlineExceeded), noAnswer, noAnswer},
		"URLTimeout":    {"As the client says it.", &url.Error{Op: "Post", Err: context.DeadlineExceeded}, noAnswer, noAnswer},
		"NoConnection":  {"No namespace has one.", &url.Error{Op: "Post", Err: errors.New("connection refused")}, serverFails, serverFails},
		"NilAPIStatus":  {"A typed nil has no code.", (*apierrors.StatusError)(nil), serverFails, serverFails},
		"UnknownReason": {"It may get better.", answerOf(409, metav1.StatusReasonConflict, nil), namespaceFails, namespaceFails},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.create, read(tc.err, true), tc.reason)
			assert.Equal(t, tc.patch, read(tc.err, false), tc.reason)
		})
	}
}

// FuzzRead: no answer panics, only success is written, and the answer
// decides alone.
func FuzzRead(f *testing.F) {
	f.Add(int32(404), "NotFound", "events", "", "UnexpectedServerResponse", true)
	f.Add(int32(0), "", "", "", "", false)
	f.Add(int32(http.StatusForbidden), "Forbidden", "events", "a", string(corev1.NamespaceTerminatingCause), false)
	f.Fuzz(func(t *testing.T, code int32, reason, kind, name, cause string, create bool) {
		details := &metav1.StatusDetails{Kind: kind, Name: name, Causes: []metav1.StatusCause{{Type: metav1.CauseType(cause)}}}
		if kind == "" {
			details = nil
		}
		err := answerOf(code, metav1.StatusReason(reason), details)
		got := read(err, create)
		assert.NotEqual(t, written, got)
		assert.LessOrEqual(t, got, serverFails)
		assert.Equal(t, got, read(fmt.Errorf("wrapped: %w", err), create))
		assert.True(t, got != eventGone || !create, "a create has nothing to recreate")
		_ = explain(err)
	})
}
