// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// TestToken_OfANewEventIsTakenOnce: the attempts that no Event came of take
// none, so the changed text is written when the server works again.
func TestToken_OfANewEventIsTakenOnce(t *testing.T) {
	for _, failure := range []string{"500", "Denied", "Hangs"} {
		t.Run(failure, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var isDown atomic.Bool
				s := &server{refuse: func(ctx context.Context, _ request) error {
					if isDown.Load() {
						return failures()[failure](ctx)
					}
					return nil
				}}
				rec, _ := start(t, s, events.Options{})
				rec.Failure(object("a"), errOne)
				time.Sleep(time.Minute)
				isDown.Store(true)
				for i := range 200 {
					rec.Failure(object("a"), fmt.Errorf("attempt %d", i))
					time.Sleep(time.Minute)
				}
				isDown.Store(false)
				time.Sleep(11 * time.Minute)
				require.Len(t, s.all(), 2)
				for i := range 8 {
					rec.Failure(object("a"), fmt.Errorf("text %d", i))
					time.Sleep(30 * time.Second)
				}
				assert.Len(t, s.all(), 10, "ten tokens but one were left")
			})
		})
	}
}

// TestToken_IsNotTakenByTheGroupThatRefuses: the Event is created by core/v1.
func TestToken_IsNotTakenByTheGroupThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.group != "" {
				return notGranted()
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		for i := range 40 {
			rec.Failure(object("a"), fmt.Errorf("text %d", i))
			time.Sleep(30 * time.Second)
		}
		assert.Len(t, s.all(), 1+10+3, "one is free, and a token comes each five minutes")
	})
}

// TestToken_OfAnUnansweredAttemptIsTaken: it may have created an Event.
func TestToken_OfAnUnansweredAttemptIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return storedError{context.DeadlineExceeded} }}
		rec, _ := start(t, s, events.Options{})
		for i := range 1200 {
			rec.Failure(object("a"), [...]error{errAway, nil}[i%2])
			time.Sleep(3 * time.Second)
		}
		assert.LessOrEqual(t, len(s.all()), 2+10+12, "in an hour")
	})
}
