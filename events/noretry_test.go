// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// TestTheCapHolds_BehindClientGo makes requests again by itself after a 429 or
// 5xx with Retry-After, up to ten times in one call.
func TestTheCapHolds_BehindClientGo(t *testing.T) {
	for _, after := range []int{1, 2, 5, 20} {
		for _, perMinute := range []int{1, 5} {
			t.Run(fmt.Sprintf("RetryAfter%d/Cap%d", after, perMinute), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var at []time.Time // one request at a time
					w := &wire{answer: func(*http.Request) (*http.Response, error) {
						at = append(at, time.Now())
						return status(429, "TooManyRequests", "", http.Header{"Retry-After": {strconv.Itoa(after)}}), nil
					}}
					rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{WritesPerMinute: perMinute})
					require.NoError(t, err)
					run(t, rec)
					rec.Failure(object("a"), errAway)
					time.Sleep(3 * time.Minute)
					synctest.Wait()
					require.NotEmpty(t, at)
					for i := perMinute; i < len(at); i++ {
						assert.GreaterOrEqual(t, at[i].Sub(at[i-perMinute]), time.Minute)
					}
				})
			})
		}
	}
}

// TestAServerThatAsksForTime_PausesAllNamespaces: the answer is not taken for a
// timeout of each namespace.
func TestAServerThatAsksForTime_PausesAllNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := &wire{answer: func(*http.Request) (*http.Response, error) {
			if time.Since(began) < 20*time.Second {
				return status(429, "TooManyRequests", "", http.Header{"Retry-After": {"20"}}), nil
			}
			return nil, errPass
		}}
		rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{})
		require.NoError(t, err)
		run(t, rec)
		for i := range 40 {
			rec.Failure(inNamespace(fmt.Sprint("ns-", i), "run"), errAway)
		}
		time.Sleep(19 * time.Second)
		synctest.Wait()
		count := func() (requests, stored int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.requests, len(w.stored)
		}
		requests, _ := count()
		assert.LessOrEqual(t, requests, 16)
		time.Sleep(time.Minute)
		_, stored := count()
		assert.Equal(t, 40, stored)
	})
}

// TestAServerThatAsksForTime_OverHTTP2 shows that client-go and net/http call
// what stops them, also when the next request would follow without a pause.
func TestAServerThatAsksForTime_OverHTTP2(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		for after, times := range []int{100, 1} {
			t.Run(fmt.Sprintf("%t/RetryAfter%d", http2, after), func(t *testing.T) {
				t.Parallel()
				for answered, tries := 0, 0; answered < times; tries++ {
					require.Less(t, tries, 2*times+10, "the server is not asked")
					answered += askForTime(t, http2, after)
				}
			})
		}
	}
}

// askForTime returns how many requests came: none if the machine was so slow
// that the request ended before it was sent.
func askForTime(t *testing.T, http2 bool, after int) int {
	t.Helper()
	var requests atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http2, r.ProtoMajor == 2)
		requests.Add(1)
		w.Header().Set("Retry-After", strconv.Itoa(after))
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	s.EnableHTTP2 = http2
	s.StartTLS()
	defer s.Close()
	rec, err := events.New(sinkOf(t, s.URL, s.Client()), controller, events.Options{WritesPerMinute: 1, DrainTimeout: time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	var started sync.WaitGroup
	started.Go(func() { _ = rec.Start(ctx) })
	defer started.Wait()
	defer stop()
	rec.Failure(object("a"), errAway)
	require.Eventually(t, func() bool { return rec.Stats().Retried > 0 }, time.Minute, time.Millisecond)
	n := requests.Load()
	assert.LessOrEqual(t, n, int32(1))
	return int(n)
}
