// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// TestRetry_CountsFromTheWrite: what a Recorder grants a write it grants one
// of its second day too.
func TestRetry_CountsFromTheWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		length time.Duration
	}{
		"RetryTimeout": {"A server that is away for less is waited for.", unavailable(), time.Minute},
		"Denied":       {"A permission may be granted after a moment.", notGranted(), 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &server{refuse: func(context.Context, request) error {
					if time.Since(began) < 24*time.Hour+tc.length {
						return tc.err
					}
					return nil
				}}
				rec, stop := start(t, s, events.Options{})
				time.Sleep(24 * time.Hour)
				rec.Failure(object("a"), errAway)
				time.Sleep(2 * time.Minute)
				assert.Len(t, s.all(), 1, tc.reason)
				assert.Positive(t, rec.Stats().Retried)
				require.NoError(t, stop())
				assertAccounts(t, rec)
			})
		})
	}
}

// TestAnswers_MayHoldNilPointers: a nil pointer means success. If an error
// wraps one, the Recorder calls no method of it.
func TestAnswers_MayHoldNilPointers(t *testing.T) {
	none := error((*apierrors.StatusError)(nil))
	for name, tc := range map[string]struct {
		reason  string
		err     error
		written bool
	}{
		"Itself":  {"A function may return a *StatusError as error.", none, true},
		"Wrapped": {"The client says only that the request failed.", fmt.Errorf("post: %w", none), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: func(context.Context, request) error { return tc.err }}
				rec, stop := start(t, s, events.Options{})
				rec.Failure(object("a"), errAway)
				time.Sleep(time.Minute)
				assert.Equal(t, tc.written, rec.Stats().Written == 1, tc.reason)
				assert.Equal(t, tc.written, len(s.asked()) == 1, tc.reason)
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
}
