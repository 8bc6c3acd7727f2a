// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// comparing is an error that panics where errors.Is compares it.
type comparing struct{}

func (comparing) Error() string { return "comparing" }
func (comparing) Is(error) bool { panic("no comparison") }

// The workers of a function that failed may still run, so the process must end.
func TestRunWith_DrainsFullyOnlyAfterACleanStop(t *testing.T) {
	errDeposed := errors.New("leader election lost")
	errTerminated := errors.New("terminated signal received")
	const full = 25 * time.Second
	for name, tc := range map[string]struct {
		reason string
		ends   bool // ctx, before run returns
		run    func(ctx context.Context) error
		want   time.Duration
	}{
		"CleanStop":     {"A manager returns nil when its workers have ended.", true, func(context.Context) error { return nil }, full},
		"CtxErr":        {"Others return the error of their context.", true, context.Context.Err, full},
		"Wrapped":       {"A clean stop may wrap the error of the context.", true, func(ctx context.Context) error { return fmt.Errorf("run: %w", ctx.Err()) }, full},
		"Cause":         {"Or return why it ended.", true, context.Cause, full},
		"LostLease":     {"Another leader may begin.", false, func(context.Context) error { return errDeposed }, time.Second},
		"LostWhileStop": {"Also while the process stops.", true, func(context.Context) error { return errDeposed }, time.Second},
		"GraceExceeded": {"Workers still run, so the stop is not clean.", true, func(context.Context) error {
			return fmt.Errorf("failed waiting for all runnables to end within grace period of 30s: %w", context.DeadlineExceeded)
		}, time.Second},
		"JoinedWithOne": {"One of them failed.", true, func(ctx context.Context) error { return errors.Join(ctx.Err(), errDeposed) }, time.Second},
		"OneShotFailed": {"A command ends with its error.", false, func(context.Context) error { return errAway }, time.Second},
		"OneShot":       {"Without a cancelled context the stop is not clean.", false, func(context.Context) error { return nil }, time.Second},
		"OwnContext":    {"A context of run ended, not the process's.", false, func(context.Context) error { return context.Canceled }, time.Second},
		"Panics":        {"An error that panics is not a clean stop.", true, func(context.Context) error { return comparing{} }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: slowly(time.Hour)}
				rec, err := events.New(s.sink(), controller, events.Options{})
				require.NoError(t, err)
				log := &lines{}
				ctx, cancel := context.WithCancelCause(logr.NewContext(t.Context(), log.logger()))
				defer cancel(nil)
				var ended time.Time
				_ = rec.RunWith(ctx, func(ctx context.Context) error {
					for _, o := range objects(50) {
						rec.Failure(o, errAway)
					}
					if tc.ends {
						cancel(errTerminated)
					}
					ended = time.Now()
					return tc.run(ctx)
				})
				assert.Equal(t, tc.want, time.Since(ended), tc.reason)
				assert.Equal(t, map[string]int64{events.LostShutdown: 50}, rec.Stats().Lost, tc.reason)
				fix := "Options.DrainTimeout"
				if tc.want < full {
					fix = "call Flush before run returns"
				}
				assert.Contains(t, log.String(), fix)
				assertAccounts(t, rec)
			})
		})
	}
}

// What can be written within a second is written.
func TestRunWith_WritesForASecondAfterALostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: slowly(100 * time.Millisecond)}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		err = rec.RunWith(t.Context(), func(context.Context) error {
			rec.Failure(object("a"), errAway)
			return errAway
		})
		assert.Equal(t, errAway.Error(), err.Error(), "nothing is lost")
		assert.Len(t, s.all(), 1)
	})
}

// A count that is left is not lost, because its Event is stored. So the process
// does not wait for a namespace that does not answer.
func TestStart_WaitsForNoDeadNamespaceWithOnlyCounts(t *testing.T) {
	for _, name := range []string{"500", "Hangs", "HangsThen504", "Denied"} {
		fail := failures()[name]
		for _, tried := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/Tried%t", name, tried), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stopWithCounts(t, fail, tried) })
			})
		}
	}
}

// stopWithCounts stops while a namespace does not take the counts of 50 stored
// Events, and another one has a new Event.
func stopWithCounts(t *testing.T, fail func(context.Context) error, tried bool) {
	t.Helper()
	var dead atomic.Bool
	s := &server{refuse: func(ctx context.Context, w request) error {
		if dead.Load() && w.namespace == "dead" {
			return fail(ctx)
		}
		return nil
	}}
	rec, stop := start(t, s, events.Options{})
	for i := range 50 {
		rec.Failure(inNamespace("dead", fmt.Sprint("run-", i)), errAway)
	}
	time.Sleep(10 * time.Second)
	require.Len(t, s.all(), 50)
	dead.Store(true)
	for i := range 50 {
		rec.Failure(inNamespace("dead", fmt.Sprint("run-", i)), errAway)
	}
	if tried {
		time.Sleep(time.Minute)
	}
	rec.Failure(inNamespace("good", "new"), errAway)
	began := time.Now()
	require.NoError(t, stop())
	assert.LessOrEqual(t, time.Since(began), 6*time.Second, "one request that hangs")
	assert.Len(t, s.all(), 51, "the new Event of another namespace is written")
	assertAccounts(t, rec)
}

// The same holds while no server answers.
func TestStart_WaitsForNoDeadServerWithOnlyCounts(t *testing.T) {
	for name, answer := range map[string]error{"503": unavailable(), "NoConnection": errors.New("dial tcp: connection refused")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dead atomic.Bool
				s := &server{refuse: func(context.Context, request) error {
					if dead.Load() {
						return answer
					}
					return nil
				}}
				rec, stop := start(t, s, events.Options{})
				for i := range 50 {
					rec.Failure(inNamespace(fmt.Sprint("ns-", i%10), fmt.Sprint("run-", i)), errAway)
				}
				time.Sleep(10 * time.Second)
				dead.Store(true)
				for i := range 50 {
					rec.Failure(inNamespace(fmt.Sprint("ns-", i%10), fmt.Sprint("run-", i)), errAway)
				}
				time.Sleep(time.Minute)
				began := time.Now()
				require.NoError(t, stop())
				assert.LessOrEqual(t, time.Since(began), 2*time.Second)
				assertAccounts(t, rec)
			})
		})
	}
}

func TestRunWith_WaitsForAnEventThatIsBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hasFailed atomic.Bool
		s := &server{refuse: func(ctx context.Context, _ request) error {
			if !hasFailed.Swap(true) {
				return failures()["500"](ctx)
			}
			return slowly(2*time.Second)(ctx, request{})
		}}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Second) // the namespace fails, and a request is under way
		require.NoError(t, stop())
		assert.Empty(t, rec.Stats().Lost)
	})
}

// TestRunWith_WaitsForNoTokenThatComesTooLate.
func TestRunWith_WaitsForNoTokenThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, stop := start(t, &server{}, events.Options{WritesPerMinute: 1})
		rec.Failure(object("a"), errAway)
		rec.Eventf(object("b"), nil, "Normal", "A", "", "")
		synctest.Wait()
		rec.Failure(object("a"), errors.New("another"))
		rec.Eventf(object("b"), nil, "Normal", "A", "", "")
		began := time.Now()
		require.NoError(t, stop())
		assert.Zero(t, time.Since(began))
		assert.Equal(t, map[string]int64{events.LostShutdown: 1}, rec.Stats().Lost)
	})
}

// TestRunWith_ReturnsTheErrorOfRunAlone: a lost Event does not end a controller
// with an error.
func TestRunWith_ReturnsTheErrorOfRunAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
	}{
		"None":  {"The process ends well, though an Event was lost.", nil},
		"Error": {"The error of run is returned as it is.", errors.New("no lease")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: slowly(time.Minute)}
				rec, err := events.New(s.sink(), controller, events.Options{DrainTimeout: time.Second})
				require.NoError(t, err)
				err = rec.RunWith(t.Context(), func(context.Context) error {
					rec.Failure(object("a"), errAway)
					return tc.err
				})
				assert.Equal(t, tc.err, err, tc.reason)
				assert.Equal(t, map[string]int64{events.LostShutdown: 1}, rec.Stats().Lost, "the loss is counted")
			})
		})
	}
}

// TestRunWith_OfAStartedRecorderCallsNothing: two of run at a time would
// reconcile twice.
func TestRunWith_OfAStartedRecorderCallsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, _ := start(t, &server{}, events.Options{})
		synctest.Wait()
		called := false
		err := rec.RunWith(t.Context(), func(context.Context) error {
			called = true
			return nil
		})
		require.ErrorContains(t, err, "the Recorder was started before")
		assert.False(t, called)
	})
}

func TestRunWith_OfANilRecorder(t *testing.T) {
	var rec *events.Recorder
	require.NoError(t, rec.RunWith(t.Context(), func(context.Context) error { return nil }))
}

func TestRunWith_EndsWhereItsFunctionPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if anything is left running
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		assert.Panics(t, func() {
			_ = rec.RunWith(t.Context(), func(context.Context) error { panic("a bug") })
		})
	})
}

func TestRunWith_WritesWhatIsRecordedAfterTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, rec.RunWith(ctx, func(context.Context) error {
			cancel()
			time.Sleep(time.Second) // the last reconcile ends a little later
			rec.Failure(object("a"), errAway)
			return nil
		}))
		assert.Empty(t, rec.Stats().Lost)
		assert.Equal(t, int64(1), rec.Stats().Written)
	})
}
