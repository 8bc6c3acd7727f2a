// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/events"
)

// ownError is a user's own error.
type ownError struct {
	reason   string
	terminal bool
}

func (e *ownError) Error() string  { return "own" }
func (e *ownError) Reason() string { return e.reason }
func (e *ownError) Terminal() bool { return e.terminal }

type reasonError string

func (e reasonError) Error() string  { return "own" }
func (e reasonError) Reason() string { return string(e) }

func code(code int) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(code), Reason: "Strange"}}
}

//req:shows E1
func TestClassify(t *testing.T) {
	runs := schema.GroupResource{Group: "agents.example.com", Resource: "agentruns"}
	kind := schema.GroupKind{Kind: "AgentRun"}
	missing := func(resource string) error { return apierrors.NewNotFound(corev1.Resource(resource), "x") }
	refused := &url.Error{Op: "Get", URL: "http://x", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errors.New("refused"))}}
	conflict := apierrors.NewConflict(runs, "a", nil)
	cases := map[string]struct {
		reason   string
		err      error
		want     string
		terminal bool
	}{
		"Nil":                 {"No error has no reason.", nil, "", false},
		"Plain":               {"Of this nothing is known.", errors.New("x"), events.InternalError, false},
		"NilPointer":          {"Nor of a nil pointer in an error.", (*nilError)(nil), events.InternalError, false},
		"File":                {"A file that is missing is not out of reach.", &fs.PathError{Op: "open", Path: "/token", Err: syscall.ENOENT}, events.InternalError, false},
		"Process":             {"Nor is a program.", os.NewSyscallError("fork", syscall.ENOMEM), events.InternalError, false},
		"RefusedByNumber":     {"A refused connection of a network is an outage.", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, events.Unavailable, false},
		"Invalid":             {"A retry does not correct a spec.", apierrors.NewInvalid(kind, "a", nil), events.InvalidSpec, true},
		"Forbidden":           {"Nor a missing permission.", apierrors.NewForbidden(runs, "a", nil), events.Forbidden, true},
		"Secret":              {"As the API server says it.", missing("secrets"), events.MissingSecret, true},
		"SecretOfLister":      {"As a lister says it.", missing("secret"), events.MissingSecret, true},
		"SecretOfCache":       {"As the cache of controller-runtime says it.", missing("Secret"), events.MissingSecret, true},
		"ConfigMap":           {"As the API server says it.", missing("configmaps"), events.MissingConfigMap, true},
		"ConfigMapOfCache":    {"As the cache of controller-runtime says it.", missing("ConfigMap"), events.MissingConfigMap, true},
		"Dependency":          {"Any object that is missing and no Secret or ConfigMap.", apierrors.NewNotFound(runs, "a"), events.MissingDependency, true},
		"Nameless":            {"404 without a name is an API that is not served.", apierrors.NewNotFound(runs, ""), events.Unavailable, false},
		"NotServed":           {"The router answers with the name of the request.", apierrors.NewGenericServerResponse(404, "GET", runs, "a", "404 page not found", 0, true), events.Unavailable, false},
		"NoDetails":           {"A Status may be bare.", &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound}}, events.Unavailable, false},
		"Conflict":            {"The next attempt reads the object again.", apierrors.NewConflict(runs, "a", nil), events.Conflict, false},
		"AlreadyExists":       {"Another client created it first.", apierrors.NewAlreadyExists(runs, "a"), events.Conflict, false},
		"Timeout":             {"A gateway gave up waiting.", apierrors.NewTimeoutError("x", 0), events.Timeout, false},
		"ServerTimeout":       {"The server itself asks to try again.", apierrors.NewServerTimeout(runs, "get", 0), events.Timeout, false},
		"TooManyRequests":     {"A throttled request works later.", apierrors.NewTooManyRequests("x", 1), events.Unavailable, false},
		"Unavailable":         {"503.", apierrors.NewServiceUnavailable("x"), events.Unavailable, false},
		"Internal":            {"500.", apierrors.NewInternalError(errors.New("x")), events.Unavailable, false},
		"BadGateway":          {"A proxy answers in place of the server.", apierrors.NewGenericServerResponse(502, "GET", runs, "", "x", 0, true), events.Unavailable, false},
		"BadRequest":          {"The spec may be valid.", apierrors.NewBadRequest("x"), events.InternalError, false},
		"Unauthorized":        {"A token may be rotated at this moment.", apierrors.NewUnauthorized("x"), events.InternalError, false},
		"StrangeReason422":    {"The code speaks where the reason is unknown.", code(422), events.InvalidSpec, true},
		"StrangeReason403":    {"The code decides where the reason is unknown.", code(403), events.Forbidden, true},
		"StrangeReason404":    {"Likewise, without a name.", code(404), events.Unavailable, false},
		"StrangeReason409":    {"The code decides where the reason is unknown.", code(409), events.Conflict, false},
		"StrangeReason504":    {"The code decides where the reason is unknown.", code(504), events.Timeout, false},
		"StrangeReason429":    {"The code decides where the reason is unknown.", code(429), events.Unavailable, false},
		"StrangeReason507":    {"The code decides where the reason is unknown.", code(507), events.Unavailable, false},
		"StrangeReason418":    {"Nothing is known of it.", code(418), events.InternalError, false},
		"Deadline":            {"The deadline of the caller has passed.", context.DeadlineExceeded, events.Timeout, false},
		"Canceled":            {"The caller went away.", context.Canceled, events.Unavailable, false},
		"NetTimeout":          {"A timeout of the network.", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, events.Timeout, false},
		"Refused":             {"The server may be starting.", refused, events.Unavailable, false},
		"DNS":                 {"No such host, now.", &net.DNSError{Err: "no such host", IsNotFound: true}, events.Unavailable, false},
		"EOF":                 {"No network error by type.", io.ErrUnexpectedEOF, events.InternalError, false},
		"Wrapped":             {"Two errors wrap it.", fmt.Errorf("a: %w", fmt.Errorf("b: %w", missing("secrets"))), events.MissingSecret, true},
		"Joined":              {"The first that fits.", errors.Join(errors.New("x"), missing("secrets"), refused), events.MissingSecret, true},
		"JoinedConflict":      {"The conflict of a status write says nothing of the failed work.", errors.Join(errors.New("x"), conflict), events.InternalError, false},
		"JoinedOvertaken":     {"Nor does the one of package status.", fmt.Errorf("a: %w", errors.Join(missing("secrets"), overtaken{})), events.MissingSecret, true},
		"JoinedInvalid":       {"Nor of a spec that a controller refuses.", errors.Join(field.Required(field.NewPath("spec"), ""), conflict), events.InvalidSpec, true},
		"JoinedConflicts":     {"Conflicts and a cancellation are a conflict together.", errors.Join(conflict, context.Canceled, overtaken{}), events.Conflict, false},
		"Own":                 {"What the error says of itself comes first.", &ownError{"SecretBlocked", true}, "SecretBlocked", true},
		"OwnWrapped":          {"Another error wraps it.", fmt.Errorf("a: %w", &ownError{"RateLimit", false}), "RateLimit", false},
		"OwnOverAPI":          {"Also over an API error that it wraps.", fmt.Errorf("%w: %w", &ownError{"QuotaExceeded", false}, apierrors.NewForbidden(runs, "a", nil)), "QuotaExceeded", false},
		"OwnReasonOnly":       {"Whether it is terminal is the API error's.", fmt.Errorf("%w: %w", reasonError("NoAgent"), apierrors.NewNotFound(runs, "a")), "NoAgent", true},
		"OwnReasonEmpty":      {"An empty reason is none.", fmt.Errorf("%w: %w", reasonError(""), apierrors.NewForbidden(runs, "a", nil)), events.Forbidden, true},
		"OwnNilPointer":       {"A nil pointer has no reason.", fmt.Errorf("a: %w", (*ownError)(nil)), events.InternalError, false},
		"NilNetErrorInErr":    {"A nil network error is not a timeout.", fmt.Errorf("a: %w", (*lostLineError)(nil)), events.InternalError, false},
		"NilByAs":             {"Nor has one that an As method sets.", unsetError{}, events.InternalError, false},
		"NilStatusErrorInErr": {"A nil API error has no code.", fmt.Errorf("a: %w", (*apierrors.StatusError)(nil)), events.InternalError, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, terminal := events.Classify(tc.err)
			assert.Equal(t, tc.want, got, tc.reason)
			assert.Equal(t, tc.terminal, terminal, tc.reason)
			assert.Equal(t, tc.terminal, events.IsTerminal(tc.err), tc.reason)
		})
	}
}

// Classify looks at a Status once; the predicates of apimachinery are its
// definition.
func TestClassify_AgreesWithThePredicates(t *testing.T) {
	reasons := []metav1.StatusReason{
		"", "Strange", metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid,
		metav1.StatusReasonServerTimeout, metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests,
		metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError,
		metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
	}
	for _, reason := range reasons {
		for c := range 600 {
			err := &apierrors.StatusError{ErrStatus: metav1.Status{
				Code: int32(c), Reason: reason, Details: &metav1.StatusDetails{Kind: "secrets", Name: "a"},
			}}
			got, terminal := events.Classify(err)
			assert.Equal(t, apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err), terminal, "%s %d", reason, c)
			for want, is := range map[string]bool{
				events.InvalidSpec: apierrors.IsInvalid(err), events.Forbidden: apierrors.IsForbidden(err),
				events.MissingSecret: apierrors.IsNotFound(err), events.Conflict: apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err),
				events.Timeout: apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err),
			} {
				assert.Equal(t, is, got == want, "%s %d is %s", reason, c, got)
			}
			if got == events.InternalError {
				assert.Less(t, c, http.StatusInternalServerError, reason)
			}
		}
	}
}

// unsetError is an error whose method As sets nil pointers.
type unsetError struct{}

func (unsetError) Error() string { return "unset" }

func (unsetError) As(target any) bool {
	switch target := target.(type) {
	case *apierrors.APIStatus:
		*target = (*apierrors.StatusError)(nil)
	case *interface{ Reason() string }:
		*target = (*ownError)(nil)
	default:
		return false
	}
	return true
}

// lostLineError is a net.Error that does not expect a nil receiver.
type lostLineError struct{ timeout bool }

func (e *lostLineError) Error() string   { return "the line is gone" }
func (e *lostLineError) Timeout() bool   { return e.timeout }
func (e *lostLineError) Temporary() bool { return e.timeout }

// refusedStatusError is an error as package status returns it: the API server
// found the status invalid, which is not the user's spec.
type refusedStatusError struct{ error }

func (refusedStatusError) Reason() string  { return events.StatusRefused }
func (refusedStatusError) Terminal() bool  { return false }
func (r refusedStatusError) Unwrap() error { return r.error }

func TestClassify_ARefusedStatusIsNotInvalidSpec(t *testing.T) {
	reason, terminal := events.Classify(fmt.Errorf("commit: %w", refusedStatusError{invalid("status.phase: Unsupported value")}))
	assert.Equal(t, events.StatusRefused, reason)
	assert.False(t, terminal)
}
