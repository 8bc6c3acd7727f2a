// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/events"
)

// TestALoss_IsLoggedWithoutALogger: through klog, the first of a cause
// immediately, and then once a minute.
func TestALoss_IsLoggedWithoutALogger(t *testing.T) {
	var log lines
	var mu sync.Mutex
	klog.SetLogger(funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, prefix+args)
	}, funcr.Options{}))
	t.Cleanup(klog.ClearLogger)
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return notGranted() }}
		rec, _ := start(t, s, events.Options{Scheme: runtime.NewScheme()})
		began := time.Now()
		logged := func() lines {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(log)
		}
		for len(logged()) == 0 && time.Since(began) < time.Hour {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
		}
		assert.LessOrEqual(t, time.Since(began), 75*time.Second)
		for range 600 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
		}
		assert.InDelta(t, 6, len(logged()), 3, "one line a minute while requests are made")
		for _, line := range logged() {
			assert.Contains(t, line, `"msg"="Could not write an event, trying again" "error"=null "controller"="agents.example.com/agentrun"`)
		}
	})
}

// TestStart_SaysThatThereIsNoScheme, once: objects of informers carry no kind.
func TestStart_SaysThatThereIsNoScheme(t *testing.T) {
	for name, o := range map[string]events.Options{"None": {}, "NilPointer": {Scheme: (*runtime.Scheme)(nil)}, "Set": {Scheme: runtime.NewScheme()}} {
		var log lines
		klog.SetLogger(funcr.New(func(prefix, args string) { log = append(log, prefix+args) }, funcr.Options{}))
		synctest.Test(t, func(t *testing.T) {
			_, stop := start(t, &server{}, o)
			synctest.Wait()
			require.NoError(t, stop())
		})
		klog.ClearLogger()
		assert.Equal(t, name != "Set", strings.Contains(log.String(), "Options.Scheme"), name)
		assert.LessOrEqual(t, len(log), 1)
	}
}

// TestPending_IsNeverNegative: a Flush that outlives RunWith writes an Event
// when all is counted already. Repeats of that Event do not stay pending.
func TestPending_IsNeverNegative(t *testing.T) {
	for name, answer := range map[string]error{"Stored": nil, "Fails": unavailable(), "Denied": notGranted(), "Rejected": rejected(), "Expired": expired("x")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: func(context.Context, request) error {
					time.Sleep(500 * time.Millisecond)
					return answer
				}}
				rec, err := events.New(s.sink(), controller, events.Options{DrainTimeout: time.Millisecond})
				require.NoError(t, err)
				rec.Failure(object("a"), errAway)
				flushed := make(chan error, 1)
				go func() { flushed <- rec.Flush(t.Context()) }()
				synctest.Wait()
				rec.Failure(object("a"), errAway)
				rec.Failure(object("a"), errAway) // no write is left that could report these
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = rec.RunWith(ctx, untilEnd)
				require.Empty(t, events.Unbalanced(rec))
				assert.Equal(t, int64(3), rec.Stats().Pending, "its write is under way")
				t.Log(<-flushed) // the accounts hold with and without an error
				time.Sleep(time.Minute)
				require.Empty(t, events.Unbalanced(rec))
				assertAccounts(t, rec)
			})
		})
	}
}

// TestCaps_HoldForDeniedRequests: both groups deny, and each attempt is two
// requests.
//
//req:shows E6
func TestCaps_HoldForDeniedRequests(t *testing.T) {
	for _, n := range []int{1, 2, 5, 60} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{refuse: func(context.Context, request) error { return notGranted() }}
			rec, stop := start(t, s, events.Options{WritesPerMinute: n, TotalWritesPerSecond: 2})
			for i := range 600 {
				for _, o := range objects(3) {
					rec.Eventf(o, nil, "Warning", fmt.Sprint("Reason", i%7), "", "x")
				}
				time.Sleep(time.Second)
			}
			assertCap(t, s, n)
			assertTotal(t, s, 2)
			_ = stop()
			assertAccounts(t, rec)
		})
	}
}

// TestConcurrency_OfRunWithAndFlush, with an ended context as well.
func TestConcurrency_OfRunWithAndFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: slowly(10 * time.Millisecond)}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		running, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { _ = rec.RunWith(running, untilEnd) })
			all.Go(func() { _ = rec.Flush(ended) })
			all.Go(func() { _ = rec.Flush(running) })
			all.Go(func() {
				for j := range 50 {
					rec.Failure(object(fmt.Sprint(i, "-", j)), errAway)
					assert.Empty(t, events.Unbalanced(rec))
					time.Sleep(time.Millisecond)
				}
			})
		}
		time.Sleep(time.Minute)
		end()
		all.Wait()
		assertAccounts(t, rec)
	})
}
