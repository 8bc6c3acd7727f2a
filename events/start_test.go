// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
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

// untouched is an error whose methods may not be called.
type untouched struct{ t *testing.T }

func (u untouched) Error() string {
	u.t.Error("Error was called")
	return ""
}

func (u untouched) Unwrap() error {
	u.t.Error("Unwrap was called")
	return nil
}

func TestDisabled_DoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{Disabled: true})
		rec.Failure(object("a"), untouched{t})
		rec.Failure(object("a"), nil)
		rec.FailureReason(nil, "A", untouched{t})
		rec.Eventf(nil, nil, "", "", "", "%v", untouched{t})
		rec.Legacy().Event(nil, "", "", "")
		rec.Legacy().AnnotatedEventf(nil, nil, "", "", "%v", untouched{t})
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
	rec.Failure(object("a"), nil)
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
