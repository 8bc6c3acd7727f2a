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
