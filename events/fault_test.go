// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

func TestNote_ThatWaitsSurvivesTheEventBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			time.Sleep(time.Second)
			if w.verb == "patch" {
				return expired(w.name)
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), invalid("one"))
		time.Sleep(14 * time.Second)
		rec.Failure(object("a"), invalid("one"))
		time.Sleep(500 * time.Millisecond) // its update is under way
		rec.Failure(object("a"), invalid("two"))
		time.Sleep(2 * time.Minute)
		require.Len(t, s.all(), 2)
		assert.Equal(t, "two", s.all()[1].Note)
		assert.Equal(t, int32(2), s.all()[1].Series.Count, "the new Event counts what the update would have counted")
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

func TestName_ThatIsTakenIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Bool
		s := &server{}
		s.refuse = func(_ context.Context, w request) error {
			if !refused.Swap(true) {
				return taken(w.name)
			}
			return nil
		}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		require.Len(t, s.asked(), 2)
		assert.NotEqual(t, s.asked()[0].name, s.asked()[1].name)
		assert.Len(t, s.all(), 1)
		assert.Equal(t, s.asked()[0].at, s.asked()[1].at, "without a pause")
	})
}

func TestServer_ThatTakesNoNameIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error { return taken(w.name) }}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, len(s.asked()), 30)
		assert.Equal(t, map[string]int64{events.LostRejected: 1}, rec.Stats().Lost)
	})
}

// TestAWrite_IsGivenUpAfterFiveMinutes, while others succeed. The next
// occurrence tries again.
func TestAWrite_IsGivenUpAfterFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		s := &server{refuse: func(_ context.Context, w request) error {
			if down.Load() && w.namespace == "bad" {
				return unavailable()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		bad := inNamespace("bad", "a")
		rec.Failure(bad, errAway)
		good := 0
		wait := func(length time.Duration) {
			for range int(length / (10 * time.Second)) {
				good++
				rec.Failure(object(fmt.Sprint("run-", good)), errAway)
				time.Sleep(10 * time.Second)
			}
		}
		wait(5*time.Minute - 10*time.Second)
		assert.Empty(t, rec.Stats().Lost)
		wait(time.Minute)
		assert.Equal(t, map[string]int64{events.LostExpired: 1}, rec.Stats().Lost)
		down.Store(false)
		rec.Failure(bad, errAway)
		time.Sleep(time.Minute)
		assert.Len(t, s.all(), good+1)
		_ = stop()
		assertAccounts(t, rec)
	})
}

func TestCount_IsNeverGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		s := &server{refuse: func(context.Context, request) error {
			if down.Load() {
				return unavailable()
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		down.Store(true)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Hour)
		down.Store(false)
		time.Sleep(time.Minute)
		assert.Equal(t, int32(2), s.all()[0].Series.Count)
		assert.Empty(t, rec.Stats().Lost)
	})
}

func TestFault_PausesAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{refuse: func(context.Context, request) error {
			if time.Since(began) < 10*time.Minute {
				return unavailable()
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{TotalWritesPerSecond: 1000})
		for _, o := range objects(1000) {
			rec.Failure(o, errAway)
		}
		time.Sleep(10 * time.Minute)
		// Both workers retry after 250 ms, doubling to 30 s.
		assert.LessOrEqual(t, len(s.asked()), 2*(8+20+1))
		times := map[time.Duration]bool{}
		for _, w := range s.asked() {
			times[w.at.Sub(began)] = true
		}
		for _, ms := range []int{0, 250, 750, 1750, 3750, 7750, 15750, 31750, 61750} {
			assert.True(t, times[time.Duration(ms)*time.Millisecond], "an attempt after %v ms", ms)
		}
		time.Sleep(time.Minute)
		assert.Len(t, s.all(), 1000)
	})
}

func TestRetryAfter_IsHonouredByAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var asked atomic.Bool
		s.refuse = func(context.Context, request) error {
			if !asked.Swap(true) {
				return tooManyRequests(7)
			}
			return nil
		}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		began := time.Now()
		rec.Failure(object("b"), errAway)
		require.NoError(t, rec.Flush(t.Context()))
		assert.Equal(t, 7*time.Second, time.Since(began))
		assert.Equal(t, int64(1), rec.Stats().Retried)
	})
}

// Two attempts that fail together are one fault, and a success ends the
// doubling.
func TestFaults_AreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var down atomic.Bool
		down.Store(true)
		s := &server{refuse: func(context.Context, request) error {
			time.Sleep(10 * time.Millisecond)
			if down.Load() {
				return unavailable()
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		for round := range 3 {
			for _, o := range objects(2) {
				rec.Eventf(o, nil, "Warning", fmt.Sprint("Reason", round), "", "")
			}
			time.Sleep(20 * time.Millisecond)
			down.Store(false)
			n := len(s.asked())
			time.Sleep(time.Minute)
			assert.Equal(t, began.Add(260*time.Millisecond), s.asked()[n].at)
			began = time.Now()
			down.Store(true)
		}
	})
}

func TestAbsurdRetryAfter_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var asked atomic.Bool
		s.refuse = func(context.Context, request) error {
			if !asked.Swap(true) {
				return tooManyRequests(1 << 30)
			}
			return nil
		}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		rec.Failure(object("b"), errAway)
		began := time.Now()
		require.NoError(t, rec.Flush(t.Context()))
		assert.Equal(t, 5*time.Minute, time.Since(began))
		assert.Len(t, s.all(), 2)
	})
}

func TestNamespace_ThatIsGoneIsNotAskedAtEachOccurrence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []error{namespaceAbsent(), namespaceTerminating()} {
			s := &server{refuse: func(context.Context, request) error { return answer }}
			rec, stop := start(t, s, events.Options{})
			for range 600 {
				rec.Failure(object("a"), errAway)
				time.Sleep(time.Second)
			}
			_ = stop()
			assert.Equal(t, map[string]int64{events.LostNamespaceGone: 600}, rec.Stats().Lost)
			assert.LessOrEqual(t, len(s.asked()), 12)
		}
	})
}

func TestOrder_OfTwoReasonsOfOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: slowly(time.Second)}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 20})
		for i := range 8 {
			rec.Eventf(object("a"), nil, "Normal", fmt.Sprint("Step", i), "", "")
		}
		require.NoError(t, rec.Flush(t.Context()))
		for i, ev := range s.all() {
			assert.Equal(t, fmt.Sprint("Step", i), ev.Reason)
		}
		assert.Equal(t, 1, s.concurrent(), "one write about an object at a time")
	})
}

// The causes of an Invalid are its fields. For any other refusal, and for an
// Invalid without causes, the error quotes the server.
func TestRefusal_IsToldInTheWordsOfTheServer(t *testing.T) {
	bare := rejected()
	bare.ErrStatus.Details.Causes = nil
	for name, tc := range map[string]struct {
		reason string
		err    error
		told   string
	}{
		"Fields":        {"An Invalid may quote the note.", rejected(), "note: FieldValueTooLong"},
		"WithoutCauses": {"There is nothing else to tell.", bare, "is invalid"},
		"OtherCauses":   {"They name no fields.", namespaceTerminating(), "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: func(context.Context, request) error { return tc.err }}
				rec, stop := start(t, s, events.Options{})
				rec.Failure(object("a"), errAway)
				time.Sleep(time.Minute)
				require.ErrorContains(t, rec.Flush(t.Context()), tc.told, tc.reason)
				require.NoError(t, stop())
			})
		})
	}
}
