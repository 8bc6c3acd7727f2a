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
		var counted struct {
			sync.Mutex
			results map[string]int64
		}
		counted.results = map[string]int64{}
		var rec *events.Recorder
		rec, stop := start(t, s, events.Options{WritesPerMinute: 2, OnResult: func(result string, n int64) {
			assert.Positive(t, n, "OnResult is not called for zero occurrences")
			counted.Lock()
			defer counted.Unlock()
			counted.results[result] += n
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
		}, counted.results, "OnResult counts every occurrence")
	})
}
