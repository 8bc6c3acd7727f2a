// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// The last Event of an object is wrong for a short pause at most, also when its
// pauses have become long.
func TestFlapping_ShowsTheLastStateAndStaysWithinTheCap(t *testing.T) {
	cases := map[string]struct {
		reason        string
		failing       int // seconds of failure, before
		flips         int
		every, before time.Duration
	}{
		"EndsFailing":         {"The pause of a failure that lasted long is obsolete after a recovery.", 7200, 1000, 100 * time.Millisecond, 11 * time.Minute},
		"EndsRecovered":       {"The last state is shown, also if it is good.", 7200, 1001, 100 * time.Millisecond, 11 * time.Minute},
		"SlowlyAndFailing":    {"The last state is shown at any speed.", 1, 360, 10 * time.Second, 11 * time.Minute},
		"SlowlyAndRecovered":  {"Recoveries are shown in time too.", 1, 361, 10 * time.Second, 11 * time.Minute},
		"RarelyAndFailing":    {"At the speed of retries.", 1, 60, 100 * time.Second, 11 * time.Minute},
		"RarelyAndRecovered":  {"At the speed of retries.", 1, 61, 100 * time.Second, 11 * time.Minute},
		"QuicklyAndRecovered": {"In a tight loop.", 1, 10_001, time.Millisecond, 11 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, _ := start(t, s, events.Options{})
				run := object("a")
				for range tc.failing {
					rec.Failure(run, errAway)
					time.Sleep(time.Second)
				}
				for i := range tc.flips {
					rec.Failure(run, [...]error{nil, errAway}[i%2])
					time.Sleep(tc.every)
				}
				state := [...]string{"Warning", "Normal"}[tc.flips%2]
				time.Sleep(tc.before)
				newest := slices.MaxFunc(s.all(), func(a, b *eventsv1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
				assert.Equal(t, state, newest.Type, tc.reason)
				assert.Equal(t, state, lastRow(s).Type, "the row that kubectl describe shows last")
				assertCap(t, s, 5)
			})
		})
	}
}

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

// TestLastRow_IsWhatTheObjectIsAfterFaults: some of the requests fail.
//
//req:shows E7
func TestLastRow_IsWhatTheObjectIsAfterFaults(t *testing.T) {
	faults := []error{unavailable(), apierrors.NewInternalError(errAway), apierrors.NewTooManyRequestsError("limit")}
	for seed := range uint64(300) {
		d := newDice(seed)
		outcomes := make([]error, d.roll(20))
		for i := range outcomes {
			outcomes[i] = []error{nil, nil, errOne, errTwo, errOther}[d.roll(5)]
		}
		longest := 1 + d.shorterThan(2*time.Minute)
		share := d.roll(3)
		s := &server{refuse: func(context.Context, request) error {
			if d.roll(10) < share {
				return faults[d.roll(3)]
			}
			return nil
		}}
		assertLastRow(t, s, events.Options{}, outcomes, func() time.Duration { return d.shorterThan(longest) })
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

// TestTheLastRow_AfterASlowWrite: during the write of a failure the object
// recovers, and fails again.
func TestTheLastRow_AfterASlowWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error {
			time.Sleep(700 * time.Millisecond)
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		for _, err := range []error{errAway, nil} {
			rec.Failure(object("a"), err)
			time.Sleep(100 * time.Millisecond)
		}
		again := time.Now()
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Minute)
		require.NoError(t, stop())
		require.Len(t, s.all(), 2, "no recovery that is not true any more")
		assert.True(t, s.all()[1].EventTime.Time.Equal(again), "%s", s.all()[1].EventTime)
	})
}

// TestAWriteThatFails_HoldsUpNoOtherSeries of its object.
func TestAWriteThatFails_HoldsUpNoOtherSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.reason == "A" {
				return apierrors.NewInternalError(errors.New("webhook"))
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		o := object("a")
		rec.FailureReason(o, "A", errAway)
		time.Sleep(time.Second)
		rec.Failure(o, nil)
		rec.Eventf(o, nil, "Warning", "Unrelated", "Run", "first")
		time.Sleep(2 * time.Minute)
		written := s.writes("create")
		require.Len(t, written, 1)
		assert.Equal(t, "Unrelated", written[0].reason)
	})
}

// kubernetes#67887: a noisy reason must not hide a new one.
//
//req:shows E2
func TestNoise_DoesNotStarveAFirstOccurrence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 5})
		run := object("a")
		for i := range 100 { // far more than the bucket holds, each of them new to the reader
			rec.Failure(run, invalid(fmt.Sprint("text ", i)))
			time.Sleep(100 * time.Millisecond)
		}
		began := time.Now()
		for i := range 5 {
			rec.Eventf(run, nil, "Warning", fmt.Sprint("New", i), "Run", "first")
		}
		for range 1000 {
			rec.Failure(run, invalid(time.Now().String()))
			time.Sleep(100 * time.Millisecond)
		}
		var firsts []request
		noise := 0
		for _, w := range s.writes("") {
			switch {
			case w.at.Before(began) || len(firsts) == 5:
			case w.note == "first":
				firsts = append(firsts, w)
			default:
				noise++
			}
		}
		require.Len(t, firsts, 5, "late, not never")
		assert.Zero(t, noise, "ahead of all updates")
		assert.LessOrEqual(t, firsts[4].at.Sub(began), 5*20*time.Second, "one for each token")
		for i, w := range firsts {
			assert.Equal(t, fmt.Sprint("New", i), w.reason, "in the order of their occurrence")
		}
		assertCap(t, s, 5)
	})
}

// Also when it is the older series that is news again.
func TestNews_ComeBeforeUpdatesOfYoungerSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		run := object("a")
		rec.Eventf(run, nil, "Warning", "Old", "", "first")
		noise := func(length time.Duration) {
			for range int(length / time.Second) {
				rec.Failure(run, invalid(time.Now().String()))
				time.Sleep(time.Second)
			}
		}
		noise(21*time.Minute + 5*time.Second) // between two tokens
		rec.Eventf(run, nil, "Warning", "Old", "", "again")
		began := time.Now()
		noise(time.Minute)
		for _, w := range s.writes("") {
			if w.at.Before(began) {
				continue
			}
			assert.Equal(t, "again", w.note, "the next token is its own")
			break
		}
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

func TestRepeat_AfterThePauseIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		time.Sleep(15 * time.Second)
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		require.Len(t, s.writes("patch"), 1)
		assert.Equal(t, int32(2), s.all()[0].Series.Count)
	})
}

// What waits for a token is not idle.
func TestEviction_SparesWhatWaitsForAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{MaxObjects: 1})
		for i := range 4 { // one more than the bucket holds
			rec.Eventf(object("a"), nil, "Warning", fmt.Sprint("Reason", i), "", "first")
		}
		synctest.Wait()
		rec.Failure(object("b"), errAway)
		assert.Equal(t, map[string]int64{events.LostQueueFull: 1}, rec.Stats().Lost)
		time.Sleep(time.Minute)
		assert.Len(t, s.all(), 4)
		rec.Failure(object("b"), errAway)
		synctest.Wait()
		assert.Len(t, s.all(), 5, "and makes room when it is written")
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
