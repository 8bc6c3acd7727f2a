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

// TestHasPending_UntilTheEventIsWritten: a request takes a second.
func TestHasPending_UntilTheEventIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error {
			time.Sleep(time.Second)
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		assert.False(t, rec.HasPending(object("a")))
		rec.Failure(object("a"), errAway)
		assert.True(t, rec.HasPending(object("a")), "it waits")
		assert.False(t, rec.HasPending(object("b")), "another object's")
		time.Sleep(500 * time.Millisecond)
		assert.True(t, rec.HasPending(object("a")), "it is being written")
		rec.Eventf(object("a"), nil, "Normal", "Step", "Run", "")
		time.Sleep(time.Second)
		assert.True(t, rec.HasPending(object("a")), "the second one is being written")
		time.Sleep(time.Second)
		assert.False(t, rec.HasPending(object("a")))
		rec.Failure(object("a"), errAway)
		assert.EqualValues(t, 1, rec.Stats().Pending)
		assert.False(t, rec.HasPending(object("a")), "a repeat is a number")
		require.NoError(t, stop())
	})
}

// TestHasPending_OfAnEventThatIsNotWritten: it waits while the API server is
// away, and no longer once it is lost.
func TestHasPending_OfAnEventThatIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return errAway }}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Minute)
		assert.True(t, rec.HasPending(object("a")))
		requireLost(t, stop(), map[string]int64{events.LostShutdown: 1})
		assert.False(t, rec.HasPending(object("a")))
	})
}

// TestHasPending_OfNothing: none of these has an Event.
func TestHasPending_OfNothing(t *testing.T) {
	assert.False(t, (*events.Recorder)(nil).HasPending(object("a")))
	s := &server{}
	rec, err := events.New(s.sink(), "example.com/runs", events.Options{})
	require.NoError(t, err)
	assert.False(t, rec.HasPending(nil))
	off, err := events.New(s.sink(), "example.com/runs", events.Options{Disabled: true})
	require.NoError(t, err)
	off.Failure(object("a"), errAway)
	assert.False(t, off.HasPending(object("a")))
}
