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

// TestAnEventThatGoesWhileAChangedNoteIsFormatted leaves the occurrence that the note is of: its Event tells of it.
func TestAnEventThatGoesWhileAChangedNoteIsFormatted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		answer error
		lost   map[string]int64
		left   int64 // suppressed
	}{
		"Expired":  {"The one that was counted up is no more.", expired("x"), map[string]int64{}, 1},
		"Rejected": {"Or takes no count.", rejected(), map[string]int64{events.LostRejected: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: func(_ context.Context, w request) error {
					if w.verb == "patch" {
						time.Sleep(2 * time.Second)
						return tc.answer
					}
					return nil
				}}
				rec, stop := start(t, s, events.Options{Redact: func(s string) string {
					if strings.Contains(s, "slow") {
						time.Sleep(5 * time.Second)
					}
					return s
				}})
				rec.Failure(object("a"), invalid("spec.a"))
				time.Sleep(30 * time.Second)
				rec.Failure(object("a"), invalid("spec.a")) // a count, under way for 2 s
				time.Sleep(time.Second)
				rec.Failure(object("a"), invalid("spec.slow")) // which the answer overtakes
				time.Sleep(time.Minute)
				require.Len(t, s.all(), 2)
				assert.Contains(t, s.all()[1].Note, "spec.slow")
				assert.Nil(t, s.all()[1].Series)
				st := rec.Stats()
				assert.Equal(t, tc.lost, st.Lost, tc.reason)
				assert.Equal(t, [...]int64{3, 2, 0, tc.left}, [...]int64{st.Recorded, st.Written, st.Coalesced, st.Suppressed})
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
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
