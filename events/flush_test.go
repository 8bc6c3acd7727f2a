// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// TestFlush_EndsNoPauseButTheOneAtHand: a later count waits for the end of its
// pause, as without the Flush.
func TestFlush_EndsNoPauseButTheOneAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, started := range []bool{true, false} {
			s := &server{}
			rec, err := events.New(s.sink(), controller, events.Options{})
			require.NoError(t, err)
			if started {
				run(t, rec)
				synctest.Wait()
			}
			rec.Failure(object("a"), errAway)
			require.NoError(t, rec.Flush(t.Context()))
			if !started {
				run(t, rec)
			}
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
			assert.Empty(t, s.writes("patch"), "started %v", started)
			time.Sleep(time.Minute)
			assert.Len(t, s.writes("patch"), 1, "started %v", started)
		}
	})
}

// TestFlush_ThatGaveUpEndsNoPause: a count that it left in the queue waits
// for the end of its pause, as it would have.
func TestFlush_ThatGaveUpEndsNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error {
			time.Sleep(time.Second)
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		occur := func() {
			for _, o := range objects(3) {
				rec.Failure(o, errAway)
			}
		}
		occur()
		time.Sleep(3 * time.Second)
		require.Len(t, s.all(), 3)
		occur()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		require.ErrorContains(t, rec.Flush(ctx), "pending")
		time.Sleep(3 * time.Second)
		assert.Len(t, s.writes("patch"), 2, "what the two workers had begun")
		time.Sleep(time.Minute)
		assert.Len(t, s.writes("patch"), 3)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// TestFlush_WithNothingLeftIsNoError, also where its context has ended.
func TestFlush_WithNothingLeftIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, _ := start(t, &server{refuse: func(_ context.Context, w request) error {
			if w.object == "b" {
				time.Sleep(time.Second)
			}
			return nil
		}}, events.Options{})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, rec.Flush(ended))
		rec.Failure(object("b"), errAway)
		require.ErrorContains(t, rec.Flush(ended), "1 occurrences are pending", "and something left is one")
	})
}

// TestPending_IsWhatNothingElseAccountsFor, in the numbers and in the error of
// a Flush.
func TestPending_IsWhatNothingElseAccountsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.object == "away" {
				return unavailable()
			}
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		for range 5 {
			rec.Failure(object("a"), errAway) // one is written, four more are counted
		}
		for range 3 {
			rec.Failure(object("a"), context.Canceled) // suppressed
		}
		for range 2 {
			rec.Failure(nil, errAway) // lost
		}
		require.NoError(t, rec.Flush(t.Context()))
		for range 7 {
			rec.Failure(object("away"), errAway)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, rec.Flush(ctx), "7 occurrences are pending")
		stats := rec.Stats()
		assert.Equal(t, [3]int64{17, 1, 7}, [3]int64{stats.Recorded, stats.Written, stats.Pending})
		assert.Equal(t, map[string]int64{events.LostNoReference: 2}, stats.Lost)
	})
}

// TestStop_CountsAnotherTextAsLost: the stored Event has another
// text, so the occurrence is not a repeat of it.
func TestStop_CountsAnotherTextAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{WritesPerMinute: 1, DrainTimeout: time.Second})
		rec.Failure(object("a"), invalid("one"))
		synctest.Wait()
		rec.Failure(object("a"), invalid("two")) // has to wait for a token
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostShutdown: 1}, rec.Stats().Lost)
		require.Len(t, s.all(), 1)
		assertAccounts(t, rec)
	})
}

// TestFlush_WaitsForNoPauseAfterARejectedText: the server may take it now.
func TestFlush_WaitsForNoPauseAfterARejectedText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var isInvalid atomic.Bool
		isInvalid.Store(true)
		s := &server{refuse: func(context.Context, request) error {
			if isInvalid.Load() {
				return rejected()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		for range 5 {
			rec.Failure(object("a"), errAway)
			time.Sleep(4 * time.Minute)
		}
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Second)
		isInvalid.Store(false)
		rec.Failure(object("a"), errAway)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, rec.Flush(ctx))
		assert.Zero(t, time.Since(began))
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// TestFlush_WritesNowWhatHasFailedForLong, with workers that run and without.
func TestFlush_WritesNowWhatHasFailedForLong(t *testing.T) {
	for name, tc := range map[string]struct {
		failure   error
		isRunning bool
	}{
		"Server":               {errors.New("connection refused"), false},
		"ServerWithWorkers":    {errors.New("connection refused"), true},
		"Namespace":            {apierrors.NewInternalError(errAway), false},
		"NamespaceWithWorkers": {apierrors.NewInternalError(errAway), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var isUp atomic.Bool
				s := &server{refuse: func(context.Context, request) error {
					if isUp.Load() {
						return nil
					}
					return tc.failure
				}}
				rec, err := events.New(s.sink(), controller, events.Options{})
				require.NoError(t, err)
				if tc.isRunning {
					run(t, rec)
				}
				for _, o := range objects(5) {
					rec.Failure(o, errAway)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Second)
				defer cancel()
				require.Error(t, rec.Flush(ctx))
				isUp.Store(true)
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.NoError(t, rec.Flush(ctx))
				assert.Len(t, s.all(), 5)
			})
		})
	}
}

// TestRunWith_GoesOnAfterTheWorkersOfAFlush have ended.
func TestRunWith_GoesOnAfterTheWorkersOfAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(ctx context.Context, _ request) error {
			if time.Now().Second() < 30 {
				return failures()["Hangs"](ctx)
			}
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Failure(object("a"), errAway)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		go func() { _ = rec.Flush(ctx) }()
		synctest.Wait()
		stop := run(t, rec)
		time.Sleep(time.Minute)
		assert.Len(t, s.all(), 1)
		require.NoError(t, stop())
	})
}

// TestRunWith_ThatEndsDuringARequestOfAFlush counts its occurrence as lost.
func TestRunWith_ThatEndsDuringARequestOfAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error {
			time.Sleep(3 * time.Second)
			return unavailable()
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Failure(object("a"), errAway)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		flushed := make(chan error)
		go func() { flushed <- rec.Flush(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, rec.RunWith(t.Context(), func(context.Context) error { return errAway }), errAway)
		require.NoError(t, <-flushed)
		assert.Equal(t, map[string]int64{events.LostShutdown: 1}, rec.Stats().Lost)
		assertAccounts(t, rec)
	})
}
