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

// TestOrder_WarningsBeforeNormals: on one object whose cap is used up, at
// MaxReasons, and over all objects.
func TestOrder_WarningsBeforeNormals(t *testing.T) {
	same := func(int) string { return "a" }
	each := func(i int) string { return fmt.Sprint("run-", i) }
	for name, tc := range map[string]struct {
		reason  string
		normals int
		object  func(i int) string
		o       events.Options
	}{
		"OneObject":  {"It would wait for 100 s behind seven.", 7, same, events.Options{}},
		"MaxReasons": {"It would be lost behind eleven.", 11, same, events.Options{}},
		"MaxObjects": {"It finds room.", 20, each, events.Options{MaxObjects: 20}},
		"OverAll":    {"It goes before the waiting ones.", 100, each, events.Options{TotalWritesPerSecond: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: slowly(time.Millisecond)} // so that Events are stored in the order of their requests
				rec, err := events.New(s.sink(), controller, tc.o)
				require.NoError(t, err)
				for i := range tc.normals {
					rec.Eventf(object(tc.object(i)), nil, "Normal", fmt.Sprint("Step", i), "", "done")
				}
				rec.Failure(object(tc.object(tc.normals)), errAway)
				require.Empty(t, events.Unbalanced(rec))
				stop := run(t, rec)
				time.Sleep(10 * time.Minute)
				at := slices.IndexFunc(s.writes("create"), func(w request) bool { return w.reason == events.InternalError })
				// Two requests about objects of one namespace may be under way.
				assert.GreaterOrEqual(t, at, 0, tc.reason)
				assert.LessOrEqual(t, at, 1, tc.reason)
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
}

// TestTheLastNote_IsWrittenWhenThePauseEnds, with the count, when there are no
// further occurrences.
//
//req:shows E2
func TestTheLastNote_IsWrittenWhenThePauseEnds(t *testing.T) {
	for name, record := range map[string]func(rec *events.Recorder, i int){
		"Failure": func(rec *events.Recorder, i int) { rec.Failure(object("a"), fmt.Errorf("attempt %d", i)) },
		"Eventf":  func(rec *events.Recorder, i int) { rec.Eventf(object("a"), nil, "Normal", "Step", "", "attempt %d", i) },
		"Legacy": func(rec *events.Recorder, i int) {
			rec.Legacy().Event(object("a"), "Normal", "Step", fmt.Sprint("attempt ", i))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, _ := start(t, s, events.Options{})
				for i := range 10 {
					rec.AnnotatedEventf(object("b"), nil, map[string]string{"n": fmt.Sprint(i)}, "Normal", "Step", "", "attempt %d", i)
					record(rec, i)
					time.Sleep(time.Second)
				}
				time.Sleep(time.Minute)
				notes := map[string][]string{}
				for _, ev := range s.all() {
					notes[ev.Regarding.Name] = append(notes[ev.Regarding.Name], ev.Note)
				}
				assert.Equal(t, map[string][]string{"a": {"attempt 0", "attempt 9"}, "b": {"attempt 0", "attempt 9"}}, notes)
				assert.Equal(t, int32(9), s.all()[3].Series.Count)
			})
		})
	}
}

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
		assert.InDelta(t, 11, len(logged()), 1)
		for _, line := range logged() {
			assert.Contains(t, line, `"msg"="Dropped events" "error"=null "controller"="agents.example.com/agentrun" "cause"="Forbidden" "count"=`)
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

// TestStart_ReportsWhatTheStopLost and nothing else: a loss of the first day is
// in the numbers and in the log.
func TestStart_ReportsWhatTheStopLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(nil, errAway)
		time.Sleep(30 * 24 * time.Hour)
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostNoReference: 1}, rec.Stats().Lost)

		s.refuse = func(context.Context, request) error { return unavailable() }
		rec, stop = start(t, s, events.Options{})
		rec.Failure(nil, errAway)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Second)
		requireLost(t, stop(), map[string]int64{events.LostShutdown: 1})
	})
}

// TestPending_IsNeverNegative: a Flush that outlives Start writes an Event when
// all is counted already. Repeats of that Event do not stay pending.
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
				_ = rec.Start(ctx)
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

// TestConcurrency_OfStartFlushAndForget, with an ended context as well.
func TestConcurrency_OfStartFlushAndForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: slowly(10 * time.Millisecond)}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		running, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { _ = rec.Start(running) })
			all.Go(func() { _ = rec.Flush(ended) })
			all.Go(func() { _ = rec.Flush(running) })
			all.Go(func() {
				for j := range 50 {
					rec.Failure(object(fmt.Sprint(i, "-", j)), errAway)
					rec.Forget(object(fmt.Sprint(i, "-", j-1)))
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
