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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

func TestNote_ThatWaitsSurvivesTheEventBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			time.Sleep(time.Second)
			if w.verb == "patch" {
				return expired(w.name)
			}
			return nil
		}}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), invalid("one"))
		time.Sleep(14 * time.Second)
		began := time.Now()
		rec.Failure(object("a"), invalid("one"))
		time.Sleep(500 * time.Millisecond) // its update is under way
		rec.Failure(object("a"), invalid("two"))
		time.Sleep(2 * time.Minute)
		require.Len(t, s.all(), 2)
		assert.Equal(t, "two", s.all()[1].Note)
		assert.Equal(t, int32(2), s.all()[1].Series.Count, "the new Event counts what the update would have counted")
		assert.True(t, s.all()[1].EventTime.Time.Equal(began), "since then")
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

func TestName_ThatIsTakenIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Bool
		s := &server{}
		s.refuse = func(_ context.Context, w request) error {
			if !refused.Swap(true) {
				return taken(w.name)
			}
			return nil
		}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Second)
		require.Len(t, s.asked(), 2)
		assert.NotEqual(t, s.asked()[0].name, s.asked()[1].name)
		assert.Len(t, s.all(), 1)
	})
}

func TestServer_ThatTakesNoNameIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error { return taken(w.name) }}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, len(s.asked()), 130, "one request in 30 s")
		assert.Zero(t, rec.Stats().Written)
	})
}

// TestSeries_WhoseRequestFailsWaitsBehindTheOthers of its object. Its Event has
// the time of its first occurrence.
func TestSeries_WhoseRequestFailsWaitsBehindTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{refuse: func(_ context.Context, w request) error {
			time.Sleep(100 * time.Millisecond)
			if w.reason == "One" && time.Since(began) < 5*time.Second {
				return apierrors.NewInternalError(errors.New("webhook"))
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		rec.FailureReason(object("a"), "One", errAway)
		time.Sleep(50 * time.Millisecond)
		rec.FailureReason(object("a"), "One", errAway) // while the request is under way
		rec.FailureReason(object("a"), "Two", errAway)
		time.Sleep(5 * time.Second)
		require.Len(t, s.all(), 1)
		assert.Equal(t, "Two", s.all()[0].Reason)
		time.Sleep(time.Minute)
		require.Len(t, s.all(), 2)
		one := s.all()[1]
		assert.True(t, one.EventTime.Time.Equal(began))
		require.NotNil(t, one.Series)
		assert.Equal(t, int32(2), one.Series.Count)
	})
}

// Two attempts that fail together are one fault, and a success ends the
// doubling.
func TestFaults_AreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var down atomic.Bool
		down.Store(true)
		s := &server{refuse: func(context.Context, request) error {
			time.Sleep(10 * time.Millisecond)
			if down.Load() {
				return unavailable()
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		for round := range 3 {
			for _, o := range objects(2) {
				rec.Eventf(o, nil, "Warning", fmt.Sprint("Reason", round), "", "")
			}
			time.Sleep(20 * time.Millisecond)
			down.Store(false)
			n := len(s.asked())
			time.Sleep(time.Minute)
			assert.Equal(t, began.Add(260*time.Millisecond), s.asked()[n].at)
			began = time.Now()
			down.Store(true)
		}
	})
}

// The causes of an Invalid are its fields. For any other refusal, and for an
// Invalid without causes, the error quotes the server.
func TestRefusal_IsLoggedInTheWordsOfTheServer(t *testing.T) {
	bare := rejected()
	bare.ErrStatus.Details.Causes = nil
	for name, tc := range map[string]struct {
		reason   string
		err      error
		reported string
	}{
		"Fields":        {"An Invalid may quote the note.", rejected(), "note: FieldValueTooLong"},
		"WithoutCauses": {"There is nothing else to say.", bare, "is invalid"},
		"OtherCauses":   {"They name no fields.", namespaceTerminating(), "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: func(context.Context, request) error { return tc.err }}
				rec, err := events.New(s.sink(), controller, events.Options{})
				require.NoError(t, err)
				var log lines
				stop := runLogged(t, rec, &log)
				rec.Failure(object("a"), errAway)
				time.Sleep(time.Minute)
				require.NoError(t, stop())
				assert.Contains(t, log.String(), tc.reported, tc.reason)
			})
		})
	}
}
