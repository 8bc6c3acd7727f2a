// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// TestPatience_CountsFromTheWrite: what a Recorder grants a write it grants one
// of its second day too.
func TestPatience_CountsFromTheWrite(t *testing.T) {
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

// TestUpdate_ThatFailsIsTriedAgainAtOnce, which is after the pause that a
// fault of the server makes, and counted.
func TestUpdate_ThatFailsIsTriedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Bool
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.verb == "patch" && !refused.Swap(true) {
				return unavailable()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		time.Sleep(24 * time.Hour)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Second)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Hour)
		asked := s.asked()
		require.Len(t, asked, 3)
		assert.Equal(t, 250*time.Millisecond, asked[2].at.Sub(asked[1].at))
		assert.EqualValues(t, 1, rec.Stats().Retried)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// TestAttempt_WithoutAnAnswerEnds after five seconds.
func TestAttempt_WithoutAnAnswerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took atomic.Int64
		s := &server{refuse: func(ctx context.Context, _ request) error {
			if took.Load() > 0 {
				return nil
			}
			began := time.Now()
			<-ctx.Done()
			took.Store(int64(time.Since(began)))
			return ctx.Err()
		}}
		rec, stop := start(t, s, events.Options{})
		time.Sleep(24 * time.Hour)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Minute)
		assert.Equal(t, 5*time.Second, time.Duration(took.Load()))
		assert.Len(t, s.all(), 1, "the next answer arrives")
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
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
