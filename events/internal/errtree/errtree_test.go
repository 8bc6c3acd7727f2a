// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package errtree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/proompteng/controllerkit/events/internal/errtree"
)

var errBroken = errors.New("broken")

// code is an error that Find looks for.
type code int

func (c code) Error() string { return fmt.Sprint("code ", int(c)) }

// translated is not a code. Its method As converts it to one.
type translated struct{ code code }

func (translated) Error() string { return "translated" }

func (t translated) As(target any) bool {
	c, ok := target.(*code)
	if ok {
		*c = t.code
	}
	return ok
}

// TestFind_AgreesWithErrorsAs compares the two on each shape of a chain.
func TestFind_AgreesWithErrorsAs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   code
		found  bool
	}{
		"Nil":          {"No error holds nothing.", nil, 0, false},
		"Itself":       {"The error itself comes first.", code(1), 1, true},
		"Other":        {"An error of another type is none.", errors.New("x"), 0, false},
		"Wrapped":      {"%w wraps one error.", fmt.Errorf("a: %w", fmt.Errorf("b: %w", code(2))), 2, true},
		"WrappedOther": {"The chain ends without one.", fmt.Errorf("a: %w", errors.New("x")), 0, false},
		"Joined":       {"The first of several that fits decides.", errors.Join(errors.New("x"), code(3), code(4)), 3, true},
		"JoinedDeep":   {"A branch is searched to its end before the next.", errors.Join(fmt.Errorf("a: %w", code(5)), code(6)), 5, true},
		"JoinedOther":  {"No branch has one.", errors.Join(errors.New("x"), errors.New("y")), 0, false},
		"As":           {"An error may convert itself to another.", fmt.Errorf("a: %w", translated{7}), 7, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := errtree.Find[code](tc.err)
			assert.Equal(t, tc.found, ok, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
			var want code
			assert.Equal(t, errors.As(tc.err, &want), ok, tc.reason)
			assert.Equal(t, want, got, tc.reason)
		})
	}
}

// TestFind_PassesOverATypedNil that an As method sets.
func TestFind_PassesOverATypedNil(t *testing.T) {
	got, found := errtree.Find[net.Error](errors.Join(unsetError{}, &net.OpError{Op: "dial", Err: errBroken}))
	assert.True(t, found)
	assert.NotNil(t, got)
	_, found = errtree.Find[net.Error](unsetError{})
	assert.False(t, found)
}

// unsetError is an error whose method As sets a nil pointer.
type unsetError struct{}

func (unsetError) Error() string { return "unset" }

func (unsetError) As(target any) bool {
	failed, ok := target.(*net.Error)
	if ok {
		*failed = (*net.OpError)(nil)
	}
	return ok
}

// TestNilPointers: the methods of these types panic on a nil pointer.
func TestNilPointers(t *testing.T) {
	for name, err := range map[string]error{
		"Path": (*fs.PathError)(nil), "URL": (*url.Error)(nil), "Net": (*net.OpError)(nil), "API": (*apierrors.StatusError)(nil),
		"Wrapped": fmt.Errorf("x: %w", error((*net.OpError)(nil))), "Joined": errors.Join((*fs.PathError)(nil), errBroken),
	} {
		t.Run(name, func(t *testing.T) {
			assert.False(t, errtree.Canceled(err))
			assert.False(t, errtree.Conflict(err))
			_, found := errtree.Find[net.Error](err)
			assert.False(t, found)
		})
	}
}

func TestCanceled(t *testing.T) {
	wrapped := fmt.Errorf("list: %w", &url.Error{Op: "Get", URL: "/", Err: context.Canceled})
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":          {"There is no error.", nil, false},
		"Itself":       {"It is what a context says.", context.Canceled, true},
		"Wrapped":      {"As by an HTTP client.", wrapped, true},
		"Joined":       {"All that were started were cancelled.", errors.Join(wrapped, nil, context.Canceled), true},
		"WithOne":      {"One failed, and the others were cancelled for it.", errors.Join(wrapped, errBroken), false},
		"Deep":         {"However deep.", fmt.Errorf("all: %w", errors.Join(context.Canceled, fmt.Errorf("one: %w", errBroken))), false},
		"TwoVerbs":     {"Both say what it was.", fmt.Errorf("%w: %w", errBroken, context.Canceled), false},
		"Deadline":     {"That is a failure.", context.DeadlineExceeded, false},
		"NothingIn":    {"A wrapper that wraps nothing is an error of its own.", &url.Error{Op: "Get", URL: "/"}, false},
		"Aggregate":    {"As the packages of apimachinery join.", utilerrors.NewAggregate([]error{wrapped, context.Canceled}), true},
		"AggregateOne": {"One failed.", utilerrors.NewAggregate([]error{context.Canceled, errBroken}), false},
		"EmptyInner":   {"As is a joined error of none.", joined{}, false},
		"Nils":         {"Nothing is joined.", joined{nil, nil}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, errtree.Canceled(tc.err), tc.reason) })
	}
}

type joined []error

func (joined) Error() string     { return "none" }
func (j joined) Unwrap() []error { return j }

// overtaken is an error as package status returns it.
type overtaken struct{}

func (overtaken) Error() string  { return "the object has changed" }
func (overtaken) Reason() string { return "Conflict" }

// named has a reason, and wraps an error.
type named struct {
	error

	reason string
}

func (n named) Reason() string { return n.reason }
func (n named) Unwrap() error  { return n.error }

func TestConflict(t *testing.T) {
	one := apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("modified"))
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":          {"There is no error.", nil, false},
		"TypedNil":     {"There is none in it.", (*apierrors.StatusError)(nil), false},
		"Conflict":     {"As the API server answers.", one, true},
		"Wrapped":      {"As controllers return it.", fmt.Errorf("update: %w", one), true},
		"Reason":       {"As package status says it.", fmt.Errorf("commit: %w", overtaken{}), true},
		"Joined":       {"All of them are.", errors.Join(one, overtaken{}), true},
		"Cancelled":    {"The steps that were cancelled for it say nothing.", errors.Join(one, fmt.Errorf("step 2: %w", context.Canceled)), true},
		"Deadline":     {"A timeout is a failure.", errors.Join(one, context.DeadlineExceeded), false},
		"WithOne":      {"Another one counts.", errors.Join(one, errBroken), false},
		"Deep":         {"However deep.", fmt.Errorf("all: %w", errors.Join(one, fmt.Errorf("one: %w", errBroken))), false},
		"Aggregate":    {"As the packages of apimachinery join.", utilerrors.NewAggregate([]error{one, overtaken{}}), true},
		"AggregateOne": {"Another one counts.", utilerrors.NewAggregate([]error{one, errBroken}), false},
		"Exists":       {"It does not pass by itself.", apierrors.NewAlreadyExists(corev1.Resource("pods"), "p"), false},
		"OtherError":   {"It says something else.", errBroken, false},
		"ReasonWraps":  {"The reason counts, not what it wraps.", named{errBroken, "Conflict"}, true},
		"OtherReason":  {"As for every error that names its reason.", named{one, "QuotaRaced"}, false},
		"NoReason":     {"It names none.", named{one, ""}, true},
		"Nils":         {"Nothing is joined.", joined{nil, nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, errtree.Conflict(tc.err), tc.reason)
		})
	}
}
