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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// TestARepeat_IsOnlyCounted while its series waits for a write, and during the
// write. The Event has the last note before the write.
func TestARepeat_IsOnlyCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { // slow
			time.Sleep(time.Second)
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		repeat := func(text string) {
			for range 3 {
				rec.Eventf(object("a"), nil, "Normal", "Slow", "", "%v", text)
			}
		}
		repeat("first")
		repeat("second") // it waits
		stop := run(t, rec)
		synctest.Wait()
		repeat("second") // it is being written
		time.Sleep(time.Minute)
		require.Len(t, s.all(), 1)
		assert.Equal(t, "second", s.all()[0].Note)
		assert.Equal(t, int32(9), s.all()[0].Series.Count)
		_ = stop()
		assertAccounts(t, rec)
	})
}

// TestEvent_ThatGoesWhileANoteChanges leaves the occurrence that the note is
// of: its Event reports it.
func TestEvent_ThatGoesWhileANoteChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		answer error
		lost   map[string]int64
		count  int32 // of the second Event
	}{
		"Expired":  {"The API server has deleted the counted Event.", expired("x"), map[string]int64{}, 2},
		"Rejected": {"Or takes no count.", rejected(), map[string]int64{events.LostRejected: 1}, 1},
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
				rec, stop := start(t, s, events.Options{})
				rec.Failure(object("a"), invalid("spec.a"))
				time.Sleep(30 * time.Second)
				rec.Failure(object("a"), invalid("spec.a")) // a count, under way for 2 s
				time.Sleep(time.Second)
				rec.Failure(object("a"), invalid("spec.slow")) // which the answer overtakes
				time.Sleep(time.Minute)
				require.Len(t, s.all(), 2)
				assert.Contains(t, s.all()[1].Note, "spec.slow")
				count := int32(1)
				if s.all()[1].Series != nil {
					count = s.all()[1].Series.Count
				}
				assert.Equal(t, tc.count, count, tc.reason)
				assert.Equal(t, tc.lost, rec.Stats().Lost, tc.reason)
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
}

// TestARedactor_ThatPanicsOnAnAnswer costs the explanation. No log line quotes
// what it was to hide.
func TestARedactor_ThatPanicsOnAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error {
			return apierrors.NewForbidden(eventsResource, "a", errors.New("odd"))
		}}
		rec, err := events.New(s.sink(), controller, events.Options{Redact: func(s string) string {
			if strings.Contains(s, "odd") {
				panic(s)
			}
			return s
		}})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		rec.Failure(object("a"), errAway)
		time.Sleep(2 * time.Minute)
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostForbidden: 1}, rec.Stats().Lost)
		assert.Contains(t, log.String(), "[withheld: the redactor panicked with a string]")
		assert.NotContains(t, log.String(), "odd")
		assertAccounts(t, rec)
	})
}

// TestAPanickingError_FailsNoReconcile: the note says what happened.
func TestAPanickingError_FailsNoReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), panickingError{})
		require.NoError(t, stop())
		require.Len(t, s.all(), 1)
		assert.Contains(t, s.all()[0].Note, "PANIC=Error method: oops")
		assertAccounts(t, rec)
	})
}

type panickingError struct{}

func (panickingError) Error() string { panic("oops") }
