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

	"github.com/proompteng/controllerkit/events"
)

func slowly(d time.Duration) func(context.Context, request) error {
	return func(ctx context.Context, _ request) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestEvents_BeforeStartAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		began := time.Now()
		for range 3 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Hour)
		}
		assert.Empty(t, s.asked(), "New starts nothing")
		assert.Equal(t, int64(3), rec.Stats().Pending)
		run(t, rec)
		synctest.Wait()
		require.Len(t, s.all(), 1)
		assert.Equal(t, int32(3), s.all()[0].Series.Count)
		assert.True(t, s.all()[0].EventTime.Time.Equal(began), "an Event that is late has the time of its occurrence")
	})
}

// 500 events are queued when the process must end.
func TestStart_DrainsWithinTheDrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: slowly(5 * time.Millisecond)}
		rec, stop := start(t, s, events.Options{})
		for _, o := range objects(500) {
			rec.Failure(o, errAway)
		}
		require.NoError(t, stop())
		assert.Len(t, s.all(), 500)
		assertAccounts(t, rec)
	})
}

func TestStart_ReportsExactlyWhatTheGraceWasTooShortFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: slowly(time.Second)}
		rec, stop := start(t, s, events.Options{DrainTimeout: 10 * time.Second})
		for _, o := range objects(500) {
			rec.Failure(o, errAway)
			rec.Failure(o, errAway)
		}
		began := time.Now()
		require.NoError(t, stop())
		assert.Equal(t, 10*time.Second, time.Since(began))
		told := int64(2 * len(s.all()))
		assert.InDelta(t, 40, told, 4, "two workers, ten seconds, one second each, two occurrences")
		assert.Equal(t, map[string]int64{events.LostShutdown: 1000 - told}, rec.Stats().Lost)
		assertAccounts(t, rec)
	})
}

func TestGrace_IsNotSatOutInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{WritesPerMinute: 1})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		rec.Failure(object("a"), errAway) // a count that may be written in a minute
		began := time.Now()
		require.NoError(t, stop(), "a missing count is not a loss: the Event is there")
		assert.Zero(t, time.Since(began))
		assert.Empty(t, rec.Stats().Lost)
		assertAccounts(t, rec)

		rec, stop = start(t, s, events.Options{})
		for range 4 {
			rec.Failure(object("c"), errAway)
			require.NoError(t, rec.Flush(t.Context()))
		}
		rec.Failure(object("c"), errAway)
		began = time.Now()
		require.NoError(t, stop())
		assert.Zero(t, time.Since(began), "the stop does not wait for it, although the drain timeout has time")

		rec, stop = start(t, s, events.Options{WritesPerMinute: 1})
		rec.Failure(object("b"), errAway)
		synctest.Wait()
		rec.Eventf(object("b"), nil, "Warning", "New", "", "a first occurrence that must wait for a minute")
		began = time.Now()
		require.NoError(t, stop())
		assert.Zero(t, time.Since(began))
		assert.Equal(t, map[string]int64{events.LostShutdown: 1}, rec.Stats().Lost)
	})
}

func TestFirstOccurrence_MayStillComeWithinTheDrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		for i := range 4 { // one more than the bucket holds
			rec.Eventf(object("a"), nil, "Warning", fmt.Sprint("Reason", i), "", "first")
		}
		require.NoError(t, stop())
		assert.Len(t, s.all(), 4)
		assertCap(t, s, 5)
	})
}

// A changed note and a second recovery are new Events too.
func TestStop_MayWriteAnyNewEventInTime(t *testing.T) {
	for name, outcomes := range map[string][]error{
		"ChangedNotes":   {invalid("one"), invalid("two"), invalid("three"), invalid("four")},
		"SecondRecovery": {errAway, nil, errAway, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, stop := start(t, s, events.Options{})
				for _, err := range outcomes {
					rec.Failure(object("a"), err)
					synctest.Wait()
				}
				require.NoError(t, stop())
				assert.Len(t, s.all(), 4, "one more than the bucket holds")
				assertCap(t, s, 5)
				assertAccounts(t, rec)
			})
		})
	}
}

func TestEvents_AfterStartAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		require.NoError(t, stop())
		rec.Failure(object("a"), errAway)
		rec.Legacy().Event(object("a"), "Normal", "A", "b")
		require.NoError(t, rec.Flush(t.Context()))
		assert.Equal(t, map[string]int64{events.LostShutdown: 2}, rec.Stats().Lost)
		assertAccounts(t, rec)
		objects, _, _ := events.Kept(rec)
		assert.Zero(t, objects)
	})
}

func TestRecorder_StartsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, stop := start(t, &server{}, events.Options{})
		synctest.Wait()
		require.ErrorContains(t, rec.RunWith(t.Context(), untilEnd), "the Recorder was started before")
		require.NoError(t, stop())
		require.ErrorContains(t, rec.RunWith(t.Context(), untilEnd), "the Recorder was started before")
	})
}

func TestContext_ThatHasEndedStillDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Failure(object("a"), errAway)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, rec.RunWith(ctx, untilEnd))
		assert.Len(t, s.all(), 1)
	})
}

func TestFlush_WritesCountsWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, started := range []bool{true, false} {
			s := &server{}
			rec, err := events.New(s.sink(), controller, events.Options{})
			require.NoError(t, err)
			if started {
				run(t, rec)
			}
			rec.Failure(object("a"), errAway)
			require.NoError(t, rec.Flush(t.Context()))
			for range 9 {
				rec.Failure(object("a"), errAway)
			}
			began := time.Now()
			require.NoError(t, rec.Flush(t.Context()))
			assert.Zero(t, time.Since(began), "the pause is not waited for")
			assert.Equal(t, int32(10), s.all()[0].Series.Count)
			rec.Failure(object("a"), errAway)
			require.NoError(t, rec.Flush(t.Context()))
			rec.Failure(object("a"), errAway)
			require.NoError(t, rec.Flush(t.Context()))
			assert.Equal(t, 20*time.Second, time.Since(began).Truncate(time.Second), "the cap is")
			require.NoError(t, rec.Flush(t.Context()), "nothing to do")
			assertCap(t, s, 5)
		}
	})
}

func TestFlush_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, started := range []bool{true, false} {
			s := &server{refuse: func(context.Context, request) error { return unavailable() }}
			rec, err := events.New(s.sink(), controller, events.Options{})
			require.NoError(t, err)
			if started {
				run(t, rec)
			}
			rec.Failure(object("a"), errAway)
			rec.Failure(object("b"), errAway)
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errAway)
			err = rec.Flush(ctx)
			cancel()
			require.ErrorIs(t, err, errAway)
			require.ErrorContains(t, err, "2 occurrences")
			assert.Equal(t, int64(2), rec.Stats().Pending, "and are kept")
		}
	})
}

func TestFlush_ManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: slowly(10 * time.Millisecond)}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		for _, o := range objects(50) {
			rec.Failure(o, errAway)
		}
		ended := make(chan error, 8)
		for range cap(ended) {
			go func() { ended <- rec.Flush(t.Context()) }()
		}
		for range cap(ended) {
			require.NoError(t, <-ended)
		}
		assert.Len(t, s.all(), 50)
		assert.Equal(t, 2, s.concurrent(), "one writer for each worker")
	})
}

func TestDisabled_DoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{Disabled: true})
		rec.Failure(object("a"), errAway)
		rec.FailureReason(nil, "A", errAway)
		rec.Eventf(nil, nil, "", "", "", "")
		rec.Legacy().Event(nil, "", "", "")
		require.NoError(t, rec.Flush(t.Context()))
		synctest.Wait()
		require.NoError(t, stop())
		assert.Zero(t, rec.Stats().Recorded)
		assert.Empty(t, s.asked())
	})
}

func TestNilRecorder_DoesNothing(t *testing.T) {
	var rec *events.Recorder
	rec.Failure(object("a"), errAway)
	rec.FailureReason(object("a"), "A", errAway)
	rec.Eventf(object("a"), nil, "Normal", "A", "", "")
	rec.Legacy().Event(object("a"), "Normal", "A", "")
	rec.Legacy().Eventf(object("a"), "Normal", "A", "")
	rec.Legacy().AnnotatedEventf(object("a"), nil, "Normal", "A", "")
	(*events.LegacyRecorder)(nil).Event(object("a"), "Normal", "A", "")
	(*events.LegacyRecorder)(nil).Eventf(object("a"), "Normal", "A", "")
	(*events.LegacyRecorder)(nil).AnnotatedEventf(object("a"), nil, "Normal", "A", "")
	require.NoError(t, rec.Flush(t.Context()))
	assert.Equal(t, events.Stats{}, rec.Stats())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, rec.RunWith(ctx, untilEnd))
}

func TestARecorderThatNewDidNotMake_DoesNothing(t *testing.T) {
	rec := new(events.Recorder)
	rec.Failure(object("a"), errAway)
	rec.Eventf(object("a"), nil, "Normal", "A", "", "")
	new(events.LegacyRecorder).Event(object("a"), "Normal", "A", "")
	require.NoError(t, rec.Flush(t.Context()))
	assert.Zero(t, rec.Stats().Recorded)
}
