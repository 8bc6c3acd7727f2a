// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

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
		assert.Empty(t, rec.Stats().Lost)
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
			events.ResultEmitted: st.Written, events.ResultAggregated: st.Recorded - st.Written - dropped, events.ResultDropped: dropped,
		}, heard.results, "OnResult counts every occurrence")
	})
}
