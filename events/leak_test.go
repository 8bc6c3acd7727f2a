// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// ownGoroutines counts the goroutines of the package that are blocked or run.
func ownGoroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "events.(*engine).turn(") {
			n++
		}
	}
	return n
}

// TestRunWith_LeavesNoGoroutine: there are eight workers while RunWith runs,
// and none before or after. A disabled recorder has none. The answers of the
// server change nothing.
func TestRunWith_LeavesNoGoroutine(t *testing.T) {
	servers := map[string]func(context.Context, request) error{
		"Accepts": nil,
		"Hangs":   func(ctx context.Context, _ request) error { <-ctx.Done(); return ctx.Err() },
		"Fails":   func(context.Context, request) error { return unavailable() },
		"Denies":  func(context.Context, request) error { return notGranted() },
	}
	for name, refuse := range servers {
		synctest.Test(t, func(t *testing.T) {
			rec, err := events.New((&server{refuse: refuse}).sink(), controller, events.Options{})
			require.NoError(t, err)
			for _, o := range objects(20) {
				rec.Failure(o, errAway)
			}
			assert.Zero(t, ownGoroutines(), "%s: New starts nothing, and nothing that records does", name)
			stop := run(t, rec)
			synctest.Wait()
			assert.Equal(t, 8, ownGoroutines(), name)
			time.Sleep(time.Minute)
			began := time.Now()
			_ = stop()
			assert.Zero(t, ownGoroutines(), name)
			assert.LessOrEqual(t, time.Since(began), 25*time.Second, "%s: within the grace", name)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		rec, stop := start(t, &server{}, events.Options{Disabled: true})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		assert.Zero(t, ownGoroutines(), "disabled")
		require.NoError(t, stop())
	})
}

// A burst of 5,000 goes through client-go's clients to an API that takes 50 ms.
// None is lost, and there are at most as many concurrent requests as workers.
func TestBurst_OverAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		w := &wire{answer: func(*http.Request) (*http.Response, error) {
			time.Sleep(50 * time.Millisecond)
			return nil, errPass
		}}
		rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{})
		require.NoError(t, err)
		stop := run(t, rec)
		for _, o := range objects(n) {
			rec.Failure(o, errAway)
		}
		require.NoError(t, rec.Flush(t.Context()))
		require.NoError(t, stop())
		assert.Len(t, w.stored, n)
		assert.Equal(t, n, w.requests)
		assert.Equal(t, 2, w.most)
	})
}
