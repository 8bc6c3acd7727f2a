// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package errtree looks into wrapped and joined errors. Unlike package errors,
// it also looks into an Aggregate of apimachinery, and calls no method of a nil
// pointer.
package errtree

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Find is errors.As with a result in place of a target. errors.As allocates its
// target on each call, also where it finds nothing, and a reconcile that fails
// again must cost no memory. Go 1.26 has errors.AsType for this.
//
// Find passes over a conflict or context.Canceled that is joined with another
// failure: it says nothing of that failure.
func Find[T any](err error) (found T, ok bool) {
	if isnil.Is(err) {
		return found, false
	}
	if found, ok = err.(T); ok {
		return found, true
	}
	if own, can := err.(interface{ As(target any) bool }); can {
		target := new(T)
		if own.As(target) && !isnil.Is(*target) {
			return *target, true
		}
	}
	several, one := inner(err)
	for _, each := range several {
		if Conflict(each) && !Conflict(err) {
			continue
		}
		if found, ok = Find[T](each); ok {
			return found, true
		}
	}
	return Find[T](one)
}

// Canceled reports whether err is context.Canceled, and hides no other failure:
// of joined errors, each must be context.Canceled.
func Canceled(err error) bool {
	return only(err, "", func(err error) bool { return errors.Is(err, context.Canceled) })
}

// Conflict reports whether err only says that another writer was faster: of
// joined errors, each must say so or be context.Canceled. A conflict comes from
// the API server, or is an error whose Reason method returns Conflict, such as
// the errors of package status. It is true where [Canceled] is true: call
// Canceled first.
func Conflict(err error) bool {
	return only(err, string(metav1.StatusReasonConflict), func(err error) bool {
		api, ok := err.(apierrors.APIStatus)
		return ok && api.Status().Reason == metav1.StatusReasonConflict || errors.Is(err, context.Canceled)
	})
}

// only reports whether each error that err wraps or joins is so. An error that
// can wrap, and wraps none, is not. If a reason is given, the reason of an error
// that names one decides, and not what it wraps.
func only(err error, reason string, is func(error) bool) bool {
	if isnil.Is(err) {
		return false
	}
	if own, ok := err.(interface{ Reason() string }); ok && reason != "" && own.Reason() != "" {
		return own.Reason() == reason
	}
	several, one := inner(err)
	switch {
	case one != nil:
		return only(one, reason, is)
	case several == nil:
		_, wraps := err.(interface{ Unwrap() error })
		return !wraps && is(err)
	}
	some := false
	for _, err := range several {
		if err != nil && !only(err, reason, is) {
			return false
		}
		some = some || err != nil
	}
	return some
}

// inner returns what err joins, or what it wraps.
func inner(err error) (several []error, one error) {
	switch wrapper := err.(type) { //nolint:errorlint // this walks the tree
	case interface{ Unwrap() error }:
		return nil, wrapper.Unwrap()
	case interface{ Unwrap() []error }:
		return wrapper.Unwrap(), nil
	case interface{ Errors() []error }:
		return wrapper.Errors(), nil
	}
	return nil, nil
}
