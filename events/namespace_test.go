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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// TestAPausedNamespace_WakesAfterASuccessAmongFailures: the success came while
// the failing request was under way.
func TestAPausedNamespace_WakesAfterASuccessAmongFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{refuse: func(_ context.Context, w request) error {
			switch w.object {
			case "succeeds":
				time.Sleep(50 * time.Millisecond)
				return nil
			case "fails":
				time.Sleep(100 * time.Millisecond)
				return namespaceAbsent()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(inNamespace("runs", "succeeds"), errAway)
		rec.Failure(inNamespace("runs", "fails"), errAway)
		time.Sleep(150 * time.Millisecond)
		rec.Failure(inNamespace("runs", "waits"), errAway)
		time.Sleep(time.Minute)
		require.Len(t, s.all(), 2)
		assert.Equal(t, "waits", s.all()[1].Regarding.Name)
		assert.Equal(t, 350*time.Millisecond, s.asked()[2].at.Sub(began), "at the end of the pause")
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// TestAPausedNamespace_WakesThoughItsObjectCameEarly: the queue has each object
// once, at its earliest time, which here is the due count of the object.
func TestAPausedNamespace_WakesThoughItsObjectCameEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var isAbsent atomic.Bool
		s := &server{refuse: func(context.Context, request) error {
			if isAbsent.Load() {
				return namespaceAbsent()
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		run := inNamespace("runs", "run")
		rec.Failure(run, errAway)
		time.Sleep(time.Second)
		rec.Failure(run, errAway) // its count is due at 12 s
		time.Sleep(time.Second)
		isAbsent.Store(true)
		for i := range 9 {
			rec.Failure(inNamespace("runs", fmt.Sprint("other-", i)), errAway)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Until(began.Add(11920 * time.Millisecond)))
		rec.FailureReason(run, "Other", errAway) // first in the queue, in a pause until 12.25 s
		isAbsent.Store(false)
		time.Sleep(time.Minute)
		require.Len(t, s.all(), 2)
		assert.Equal(t, "Other", s.all()[1].Reason)
		assert.Zero(t, rec.Stats().Pending)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// TestAPausedNamespace_WakesThoughItsObjectWasEvicted: one object of 60 stays.
// Which one is random, and in most rounds no request was made about it yet.
func TestAPausedNamespace_WakesThoughItsObjectWasEvicted(t *testing.T) {
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			var isDown atomic.Bool
			isDown.Store(true)
			s := &server{refuse: func(ctx context.Context, w request) error {
				if isDown.Load() && w.namespace == "bad" {
					return failures()["500"](ctx)
				}
				return nil
			}}
			rec, stop := start(t, s, events.Options{MaxObjects: 60})
			for i := range 60 {
				rec.Failure(inNamespace("bad", fmt.Sprint("run-", i)), errAway)
			}
			time.Sleep(2 * time.Second)
			for i := range 59 {
				rec.Failure(inNamespace("good", fmt.Sprint("run-", i)), errAway)
			}
			isDown.Store(false)
			time.Sleep(time.Minute)
			assert.Zero(t, rec.Stats().Pending)
			require.NoError(t, stop())
			assertAccounts(t, rec)
		})
	}
}

// TestANamespaceThatIsGone_TakesAllOfItsEvents, and not a request for each.
func TestANamespaceThatIsGone_TakesAllOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error {
			time.Sleep(time.Second)
			return namespaceAbsent()
		}}
		rec, _ := start(t, s, events.Options{})
		for _, o := range objects(100) {
			rec.Failure(o, errAway)
		}
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int64{events.LostNamespaceGone: 100}, rec.Stats().Lost)
		assert.Len(t, s.asked(), 2)
	})
}

// TestTheServer_WorksOnceItAnswersForANamespace, also if this is a refusal:
// others need not wait for the answer to one request at a time.
func TestTheServer_WorksOnceItAnswersForANamespace(t *testing.T) {
	for _, failure := range []string{"500", "HangsThen504", "Denied", "Terminating"} {
		t.Run(failure, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &server{refuse: func(ctx context.Context, w request) error {
					if time.Since(began) < 10*time.Minute {
						return errors.New("dial tcp 10.96.0.1:443: connect: connection refused")
					}
					switch w.namespace {
					case "bad":
						return failures()[failure](ctx)
					case "hangs":
						return failures()["Hangs"](ctx)
					}
					return nil
				}}
				rec, _ := start(t, s, events.Options{})
				rec.Failure(inNamespace("bad", "run"), errAway)
				time.Sleep(10*time.Minute + 36*time.Second)
				rec.Failure(inNamespace("hangs", "run"), errAway)
				synctest.Wait()
				rec.Failure(inNamespace("good", "run"), errAway)
				synctest.Wait()
				assert.Len(t, s.all(), 1)
			})
		})
	}
}
