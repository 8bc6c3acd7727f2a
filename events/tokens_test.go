// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/events"
)

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
		s := &server{}
		s.refuse = func(_ context.Context, w request) error {
			if w.reason == events.Recovered && len(s.all()) > 2 {
				return storedError{context.DeadlineExceeded}
			}
			return nil
		}
		rec, _ := start(t, s, events.Options{})
		for i := range 120 {
			rec.Failure(object("a"), [...]error{errAway, nil}[i%2])
			time.Sleep(30 * time.Second)
		}
		assert.LessOrEqual(t, len(s.all()), 2+10+12, "in an hour")
	})
}

// TestToken_IsTakenOnceByAnEventThatTakesTwoAttempts, and not by the first of a
// reason.
func TestToken_IsTakenOnceByAnEventThatTakesTwoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := map[string]int{}
		s := &server{refuse: func(_ context.Context, w request) error {
			attempts[w.name]++
			if attempts[w.name] == 1 {
				return unavailable()
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 60})
		for i := range 12 {
			rec.Failure(object("a"), fmt.Errorf("text %d", i))
			time.Sleep(4 * time.Second)
		}
		assert.Len(t, s.all(), 1+10)
	})
}
