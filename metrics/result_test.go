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
	assert.Equal(t, metrics.Panic, zero, "a result that nobody set means that nobody came to set it")
	assert.Equal(t, "error", metrics.Result(200).String(), "the label stays closed")
	assert.True(t, metrics.Result(200).Failed())
}

// says is an error that says itself whether it is terminal.
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
		"Nothing":         {"No error and no wish is a success.", nil, 0, nil, metrics.Success},
		"Later":           {"A time of its choice.", nil, time.Second, nil, metrics.RequeueAfter},
		"NegativeDelay":   {"A delay that is none.", nil, -time.Second, nil, metrics.Success},
		"Error":           {"Any error is retried.", errors.New("x"), 0, nil, metrics.Error},
		"ErrorAndDelay":   {"The error counts, as in controller-runtime.", errors.New("x"), time.Second, nil, metrics.Error},
		"Deadline":        {"Also when it is wrapped.", fmt.Errorf("get: %w", context.DeadlineExceeded), 0, nil, metrics.Timeout},
		"Canceled":        {"A shutdown is no failure.", fmt.Errorf("get: %w", context.Canceled), 0, nil, metrics.Canceled},
		"SaysSo":          {"The error knows.", fmt.Errorf("spec: %w", says(true)), 0, nil, metrics.TerminalError},
		"SaysNo":          {"The error knows better than the function.", errors.Join(says(false), forbidden), 0, isForbidden, metrics.Error},
		"Function":        {"What the error does not say the function may.", fmt.Errorf("create: %w", forbidden), 0, isForbidden, metrics.TerminalError},
		"FunctionSaysNo":  {"And it may say no.", errors.New("x"), 0, isForbidden, metrics.Error},
		"TerminalTimeout": {"As package events has it: a run whose own deadline passed is not retried.", errors.Join(context.DeadlineExceeded, says(true)), 0, nil, metrics.TerminalError},
		"NilPointer":      {"A nil pointer in an error must not panic.", nobody, 0, nil, metrics.Error},
		"WrappedNil":      {"Nor must one that is wrapped.", fmt.Errorf("x: %w", error((*mute)(nil))), 0, isForbidden, metrics.Error},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, metrics.Classify(tc.err, tc.after, tc.terminal), tc.reason)
		})
	}
}
