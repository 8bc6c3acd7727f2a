// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// hangOn returns a redactor that does not return from texts with a word, until
// the end of the test.
func hangOn(t *testing.T, word string) func(string) string {
	t.Helper()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return func(text string) string {
		if strings.Contains(text, word) {
			<-end
		}
		return text
	}
}

// TestRedactor_ThatHangsOnNotesCostsThem: the Events of others are written in
// time, and Flush and the stop return. The Events whose notes it does not
// return are written without them.
func TestRedactor_ThatHangsOnNotesCostsThem(t *testing.T) {
	for name, isStarted := range map[string]bool{"Start": true, "FlushAlone": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, err := events.New(s.sink(), controller, events.Options{Redact: hangOn(t, "secret")})
				require.NoError(t, err)
				stop := func() error { return nil }
				if isStarted {
					stop = run(t, rec)
				}
				for i := range 30 {
					rec.Failure(object(fmt.Sprint("a", i)), errors.New("a secret"))
				}
				rec.Failure(inNamespace("other", "b"), errAway)
				if isStarted {
					time.Sleep(2 * time.Second)
					assert.Equal(t, []string{"b"}, s.objectsWith(errAway.Error()), "it does not wait for notes of others")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				require.NoError(t, rec.Flush(ctx))
				assert.Len(t, s.all(), 31)
				assert.Len(t, s.objectsWith("[withheld: the redactor did not return within a second]"), 30)
				began := time.Now()
				require.NoError(t, stop())
				assert.LessOrEqual(t, time.Since(began), 2*time.Second)
				assertAccounts(t, rec)
			})
		})
	}
}

// TestRedactor_ThatHangsOnAnswersCostsTheirTexts: a refusal is counted, and
// nothing waits for its explanation.
func TestRedactor_ThatHangsOnAnswersCostsTheirTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.object == "a" {
				return errors.New("a secret")
			}
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{Redact: hangOn(t, "secret")})
		require.NoError(t, err)
		stop := run(t, rec)
		rec.Failure(object("a"), errAway)
		rec.Failure(inNamespace("other", "b"), errAway)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, []string{"b"}, s.objectsWith(errAway.Error()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, rec.Flush(ctx), context.DeadlineExceeded)
		began := time.Now()
		requireLost(t, stop(), map[string]int64{events.LostShutdown: 1})
		assert.LessOrEqual(t, time.Since(began), 30*time.Second)
		assertAccounts(t, rec)
	})
}

// objectsWith returns the names of the objects that have an Event with a note.
func (s *server) objectsWith(note string) (names []string) {
	for _, ev := range s.all() {
		if ev.Note == note {
			names = append(names, ev.Regarding.Name)
		}
	}
	return names
}
