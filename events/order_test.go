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

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// lastRow is the Event that was created last.
func lastRow(s *server) *eventsv1.Event {
	all := s.all()
	return all[len(all)-1]
}

var (
	errOne   = errors.New("text one")
	errTwo   = errors.New("text two")
	errOther = invalid("another reason")
)

// TestLastRow_IsWhatTheObjectIs, failing or recovered, after any order of
// failures, changed texts and recoveries.
//
//req:shows E7
func TestLastRow_IsWhatTheObjectIs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		options  events.Options
		outcomes []error
		every    time.Duration
	}{
		"AChangedText":    {"It waits for its pause, and the recovery does not.", events.Options{}, []error{errOne, errTwo, nil}, time.Second},
		"AnotherReason":   {"Each has a pause of its own.", events.Options{}, []error{errOne, errOther, errTwo, nil}, time.Second},
		"ThreeEpisodes":   {"The recovery waits for its pause too.", events.Options{}, []error{errOne, nil, errOne, nil, errOne, nil}, 9 * time.Second},
		"FailsAgain":      {"Nor does a new failure.", events.Options{}, []error{errOne, nil, errTwo, nil, errOther}, time.Second},
		"InABacklog":      {"A recovery is written before updates of other objects.", events.Options{TotalWritesPerSecond: 0.1}, []error{errOne, nil, errOne, nil}, time.Second},
		"OneWriteAtATime": {"A write a minute.", events.Options{WritesPerMinute: 1}, []error{errOne, errTwo, nil, errOther}, 11 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			assertLastRow(t, &server{}, tc.options, tc.outcomes, func() time.Duration { return tc.every })
		})
	}
}

// assertLastRow reports the outcomes with pauses, and compares the last row
// with the last of them.
func assertLastRow(t *testing.T, s *server, o events.Options, outcomes []error, pause func() time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rec, stop := start(t, s, o)
		want := ""
		for _, err := range outcomes {
			rec.Failure(object("a"), err)
			if err != nil {
				want = "Warning"
			} else if want != "" {
				want = "Normal"
			}
			time.Sleep(pause())
		}
		time.Sleep(time.Hour)
		if want != "" {
			assert.Equal(t, want, lastRow(s).Type, "%v", outcomes)
		}
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

func TestFirstOccurrence_GoesBeforeTheUpdatesOfAllObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{TotalWritesPerSecond: 1})
		all := objects(100)
		for _, o := range all {
			rec.Failure(o, errAway)
		}
		time.Sleep(3 * time.Minute)
		for _, o := range all {
			rec.Failure(o, errAway) // their pauses are over: a hundred updates
		}
		time.Sleep(30 * time.Second)
		began := time.Now()
		rec.Failure(object("new"), errAway)
		time.Sleep(2 * time.Second)
		last := s.writes("create")
		assert.Equal(t, "new", last[len(last)-1].object)
		assert.LessOrEqual(t, last[len(last)-1].at.Sub(began), time.Second)
		assert.Less(t, len(s.writes("patch")), 100, "while updates still wait")
	})
}

// TestARecovery_ThatIsRefusedAfterTheObjectFailsAgain is dropped once.
func TestARecovery_ThatIsRefusedAfterTheObjectFailsAgain(t *testing.T) {
	for name, refusal := range map[string]error{
		"Rejected": rejected(),
		"500":      apierrors.NewInternalError(errors.New("webhook")),
		"Denied":   notGranted(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				s := &server{refuse: func(_ context.Context, w request) error {
					if w.reason != events.Recovered || asked.Add(1) > 1 {
						return nil
					}
					time.Sleep(3 * time.Second)
					return refusal
				}}
				rec, stop := start(t, s, events.Options{})
				rec.FailureReason(object("a"), "A", errAway)
				time.Sleep(time.Second)
				rec.FailureReason(object("a"), "A", nil)
				time.Sleep(100 * time.Millisecond)
				rec.FailureReason(object("a"), "B", errAway)
				rec.FailureReason(object("a"), "B", nil)
				rec.FailureReason(object("a"), "C", errAway)
				time.Sleep(10 * time.Minute)
				assert.Equal(t, "C", lastRow(s).Reason, "it fails")
				assert.Empty(t, events.Unbalanced(rec))
				rec.FailureReason(object("a"), "C", nil)
				time.Sleep(10 * time.Minute)
				assert.Equal(t, "recovered from C", lastRow(s).Note)
				require.NoError(t, stop())
				assertAccounts(t, rec)
			})
		})
	}
}
