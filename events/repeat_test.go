// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// formatted is an argument of a note that does something when it is asked for its text.
type formatted func()

func (f formatted) String() string {
	f()
	return "x"
}

// TestARepeatIsOnlyCounted while its series waits to be written, and while that is being written: its note is not formatted.
func TestARepeatIsOnlyCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { // slow
			time.Sleep(time.Second)
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		times := 0
		repeat := func() {
			for range 3 {
				rec.Eventf(object("a"), nil, "Normal", "Slow", "", "%v", formatted(func() { times++ }))
			}
		}
		repeat()
		assert.Equal(t, 1, times, "it waits")
		stop := run(t, rec)
		synctest.Wait()
		repeat()
		assert.Equal(t, 1, times, "it is being written")
		time.Sleep(time.Minute)
		require.Len(t, s.all(), 1)
		assert.Equal(t, int32(6), s.all()[0].Series.Count)
		_ = stop()
		assertAccounts(t, rec)
	})
}

// TestACountWaitsForTheNoteThatIsBeingFormatted, which may make it a new Event.
func TestACountWaitsForTheNoteThatIsBeingFormatted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		rec.Eventf(object("a"), nil, "Normal", "Step", "", "first")
		time.Sleep(30 * time.Second) // its pause is over
		rec.Eventf(object("a"), nil, "Normal", "Step", "", "then %v", formatted(func() {
			rec.Eventf(object("a"), nil, "Normal", "Other", "", "")
			time.Sleep(time.Minute)
		}))
		synctest.Wait()
		assert.Len(t, s.all(), 3)
		assert.Empty(t, s.writes("patch"))
	})
}

// TestWhatAPanicLeavesBehindIsTold: the Event of a series is there, so an occurrence whose note could not be made is counted in it.
func TestWhatAPanicLeavesBehindIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{Redact: func(s string) string {
			if strings.Contains(s, "odd") {
				panic("oops")
			}
			return s
		}})
		rec.Failure(object("a"), errAway)
		time.Sleep(15 * time.Second) // its pause is over
		assert.Panics(t, func() { rec.Failure(object("a"), errors.New("odd")) })
		time.Sleep(time.Minute)
		assert.Empty(t, rec.Stats().Lost)
		require.Len(t, s.all(), 1)
		require.NotNil(t, s.all()[0].Series)
		assert.Equal(t, int32(2), s.all()[0].Series.Count)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}
