// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
)

//req:shows E6
func TestMemory_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{MaxObjects: 10, WritesPerMinute: 1000, TotalWritesPerSecond: 1e6})
		events.Narrow(rec, 3, 10*time.Minute)
		for i, o := range objects(1000) {
			for reason := range 5 {
				rec.Eventf(o, nil, "Normal", fmt.Sprint("Reason", (i+reason)%7), "", "")
				synctest.Wait()
			}
			kept, series, pending := events.Kept(rec)
			require.LessOrEqual(t, kept, 10)
			require.LessOrEqual(t, series, 30)
			require.Equal(t, pending, rec.Stats().Pending)
		}
		assert.Len(t, s.all(), 5000)
		assert.Equal(t, int64(990), rec.Stats().Evicted)
		require.NoError(t, stop())
	})
}

func TestEviction_SparesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{MaxObjects: 10})
		require.NoError(t, err)
		events.Narrow(rec, 2, 10*time.Minute)
		for _, o := range objects(12) {
			for reason := range 3 {
				rec.Eventf(o, nil, "Normal", fmt.Sprint("Reason", reason), "", "")
			}
		}
		assert.Equal(t, map[string]int64{events.LostQueueFull: 10 + 2*3}, rec.Stats().Lost, "the newest find no room, and are counted")
		requireLost(t, rec.Flush(t.Context()), map[string]int64{events.LostQueueFull: 10 + 2*3})
		assert.Len(t, s.all(), 20)
	})
}

// An object that only has a count to write makes room for an object with a
// first occurrence.
func TestCount_MakesRoomForAFirstOccurrence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{MaxObjects: 2, TotalWritesPerSecond: 0.01})
		for _, name := range []string{"a", "b"} { // "a" is written; the limiter holds "b" for 100 s
			rec.Failure(object(name), errAway)
			synctest.Wait()
		}
		time.Sleep(190 * time.Second) // the next token comes at 200 s
		rec.Failure(object("a"), errAway)
		rec.Failure(object("b"), errAway)
		rec.Failure(object("c"), errAway)
		time.Sleep(300 * time.Second)
		assert.Len(t, s.writes("create"), 3)
		st := rec.Stats()
		assert.Empty(t, st.Lost)
		assert.Equal(t, int64(1), st.Suppressed)
		_ = stop()
		assertAccounts(t, rec)
	})
}

// TestChangedNote_ThatMakesRoomIsLost, and is counted as lost, because no Event
// shows it.
func TestChangedNote_ThatMakesRoomIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{MaxObjects: 1, TotalWritesPerSecond: 0.01})
		rec.Failure(object("a"), errors.New("first"))
		time.Sleep(90 * time.Second) // the next token comes at 100 s
		rec.Failure(object("a"), errors.New("second"))
		rec.Failure(object("b"), errAway)
		time.Sleep(5 * time.Minute)
		assert.Equal(t, map[string]int64{events.LostQueueFull: 1}, rec.Stats().Lost)
		assert.Len(t, s.all(), 2)
		_ = stop()
		assertAccounts(t, rec)
	})
}

// TestObject_ThatIsNotForgottenKeepsItsPauses, though its bucket is full and
// nothing waits.
func TestObject_ThatIsNotForgottenKeepsItsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		for range 1000 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
		}
		require.NoError(t, rec.Flush(t.Context()))
		time.Sleep(2 * time.Minute)
		before := len(s.asked())
		rec.Failure(object("a"), nil)
		time.Sleep(time.Second)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Second)
		assert.Len(t, s.asked(), before+1, "the recovery; the failure waits for a short pause")
	})
}

// TestReason_ThatWasSilentForLongestMakesRoom, so that a repeat of another is
// still counted in its Event.
func TestReason_ThatWasSilentForLongestMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{WritesPerMinute: 60})
		events.Narrow(rec, 3, 10*time.Minute)
		for _, reason := range []string{"B", "A", "C", "B", "D", "B", "C"} { // D takes the room of A
			rec.Eventf(object("a"), nil, "Normal", reason, "Run", "")
			time.Sleep(20 * time.Second)
		}
		counts := map[string]int32{}
		for _, ev := range s.all() {
			counts[ev.Reason] = 1
			if ev.Series != nil {
				counts[ev.Reason] = ev.Series.Count
			}
		}
		assert.Len(t, s.all(), 4)
		assert.Equal(t, map[string]int32{"A": 1, "B": 3, "C": 2, "D": 1}, counts)
		_ = stop()
		assertAccounts(t, rec)
	})
}

// What is open is kept in memory alone.
func TestFailure_FromBeforeARestartHasNoRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		require.NoError(t, stop())
		again, _ := start(t, s, events.Options{})
		again.Failure(object("a"), nil)
		require.NoError(t, again.Flush(t.Context()))
		require.Len(t, s.all(), 1)
		assert.Equal(t, events.InternalError, s.all()[0].Reason)
	})
}

// An object of a typed client has no kind: without a Scheme the Event is lost,
// and Flush returns an error.
func TestFlush_SaysThatAnObjectHasNoKind(t *testing.T) {
	rec, err := events.New((&server{}).sink(), controller, events.Options{})
	require.NoError(t, err)
	run := object("a")
	run.TypeMeta = metav1.TypeMeta{}
	rec.Failure(run, errAway)
	requireLost(t, rec.Flush(t.Context()), map[string]int64{events.LostNoReference: 1})
}

func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 1})
		rec.Forget(object("a"))
		rec.Forget(nil)
		rec.Failure(object("a"), errAway)
		rec.Forget(object("a"))
		synctest.Wait()
		assert.Len(t, s.all(), 1, "what waits is written")
		rec.Failure(object("a"), nil)
		assert.Equal(t, int64(1), rec.Stats().Recorded, "the failure was dropped, so nil does not end it")
		rec.Eventf(object("a"), nil, "Normal", "Recreated", "", "")
		rec.Forget(object("a"))
		synctest.Wait()
		assert.Len(t, s.all(), 1, "forgetting does not lift the cap")
		time.Sleep(2*time.Minute + time.Second)
		assert.Len(t, s.all(), 2)
		rec.Forget(object("a"))
		kept, series, _ := events.Kept(rec)
		assert.Equal(t, [...]int{0, 0}, [...]int{kept, series})
	})
}

func TestConcurrency_OnOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var heard struct {
			sync.Mutex
			results map[string]int64
		}
		heard.results = map[string]int64{}
		var rec *events.Recorder
		rec, stop := start(t, s, events.Options{WritesPerMinute: 2, OnResult: func(result string, n int64) {
			assert.Positive(t, n, "OnResult is not called for zero occurrences")
			heard.Lock()
			defer heard.Unlock()
			heard.results[result] += n
			_ = rec.Stats() // a hook may call back
		}})
		var all sync.WaitGroup
		for g := range 64 {
			all.Go(func() {
				for i := range 200 {
					switch {
					case g%16 == 0 && i%10 == 0:
						rec.Failure(object("a"), nil)
					case g%16 == 1 && i%50 == 0:
						rec.Forget(object("a"))
					case g%16 == 2:
						rec.Eventf(object(fmt.Sprint("o", i)), nil, "Normal", "Other", "", "%d", i)
					case g%16 == 3:
						rec.Eventf(nil, nil, "Normal", "Other", "", "")
					default:
						rec.Failure(object("a"), errors.New("x"))
					}
					time.Sleep(time.Duration(g*i) * time.Millisecond)
				}
			})
		}
		all.Wait()
		_ = stop()
		assertCap(t, s, 2)
		assertAccounts(t, rec)
		st := rec.Stats()
		dropped := int64(0)
		for _, n := range st.Lost {
			dropped += n
		}
		assert.Equal(t, map[string]int64{
			events.ResultEmitted: st.Written, events.ResultAggregated: st.Coalesced + st.Suppressed, events.ResultDropped: dropped,
		}, heard.results, "OnResult counts every occurrence")
	})
}

func TestFailingNamespaces_TakeHalfOfTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return apierrors.NewInternalError(errAway) }}
		rec, stop := start(t, s, events.Options{MaxObjects: 10})
		for _, o := range objects(10) {
			rec.Failure(o, errAway)
			time.Sleep(time.Second)
		}
		n, _, _ := events.Kept(rec)
		assert.Equal(t, 5, n)
		_ = stop()
	})
}
