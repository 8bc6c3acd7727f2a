// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics"
)

func TestResult(t *testing.T) {
	cases := map[string]struct {
		result metrics.Result
		failed bool
	}{
		"unknown":        {metrics.Unknown, false},
		"panic":          {metrics.Panic, true},
		"success":        {metrics.Success, false},
		"requeue":        {metrics.Requeue, false},
		"requeue_after":  {metrics.RequeueAfter, false},
		"error":          {metrics.Error, true},
		"terminal_error": {metrics.TerminalError, true},
		"timeout":        {metrics.Timeout, true},
		"canceled":       {metrics.Canceled, false},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			assert.Equal(t, label, tc.result.String())
			assert.Equal(t, tc.failed, tc.result.Failed())
		})
	}
	var zero metrics.Result
	assert.Equal(t, metrics.Unknown, zero, "a result that was not set")
	assert.Equal(t, "error", metrics.Result(200).String(), "the label stays closed")
	assert.True(t, metrics.Result(200).Failed())
}

// says is an error with a method that decides whether it is terminal.
type says bool

func (s says) Error() string  { return fmt.Sprint("terminal: ", bool(s)) }
func (s says) Terminal() bool { return bool(s) }

// hollow has a method that a nil pointer cannot answer.
type hollow struct {
	terminal bool
	cause    error
}

func (h *hollow) Error() string  { return "hollow" }
func (h *hollow) Terminal() bool { return h.terminal }
func (h *hollow) Unwrap() error  { return h.cause }

// mute is like hollow, but wraps nothing.
type mute struct{ terminal bool }

func (m *mute) Error() string  { return "mute" }
func (m *mute) Terminal() bool { return m.terminal }

func TestClassify(t *testing.T) {
	forbidden := errors.New("forbidden")
	isForbidden := func(err error) bool { return errors.Is(err, forbidden) }
	var nobody *hollow
	cases := map[string]struct {
		reason   string
		err      error
		after    time.Duration
		terminal func(error) bool
		want     metrics.Result
	}{
		"Nothing":         {"No error and no delay is a success.", nil, 0, nil, metrics.Success},
		"Later":           {"A positive delay is requeue_after.", nil, time.Second, nil, metrics.RequeueAfter},
		"NegativeDelay":   {"A negative delay counts as none.", nil, -time.Second, nil, metrics.Success},
		"Error":           {"Any error is retried.", errors.New("x"), 0, nil, metrics.Error},
		"ErrorAndDelay":   {"The error counts, as in controller-runtime.", errors.New("x"), time.Second, nil, metrics.Error},
		"Deadline":        {"A wrapped deadline is a timeout.", fmt.Errorf("get: %w", context.DeadlineExceeded), 0, nil, metrics.Timeout},
		"Canceled":        {"A shutdown is not a failure.", fmt.Errorf("get: %w", context.Canceled), 0, nil, metrics.Canceled},
		"SaysSo":          {"The error's method decides.", fmt.Errorf("spec: %w", says(true)), 0, nil, metrics.TerminalError},
		"SaysNo":          {"The error's method overrides the function.", errors.Join(says(false), forbidden), 0, isForbidden, metrics.Error},
		"Function":        {"If the error does not decide, the function does.", fmt.Errorf("create: %w", forbidden), 0, isForbidden, metrics.TerminalError},
		"FunctionSaysNo":  {"The function may return false.", errors.New("x"), 0, isForbidden, metrics.Error},
		"TerminalTimeout": {"Like in package events, a run whose own deadline passed is not retried.", errors.Join(context.DeadlineExceeded, says(true)), 0, nil, metrics.TerminalError},
		"NilPointer":      {"A nil pointer in an error must not panic.", nobody, 0, nil, metrics.Error},
		"WrappedNil":      {"Neither must a wrapped nil pointer.", fmt.Errorf("x: %w", error((*mute)(nil))), 0, isForbidden, metrics.Error},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, metrics.Classify(tc.err, tc.after, tc.terminal), tc.reason)
		})
	}
}
