// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// The shapes in which an API server refuses, as client-go reads them off the
// wire.
//
//req:shows E3
func TestFallback_ByTheShapeOfTheRefusal(t *testing.T) {
	const terminating = `"name":"a.1","kind":"events","causes":[{"reason":"NamespaceTerminating","message":"","field":"metadata.namespace"}]`
	const tooLong = `"name":"a.1","kind":"Event","causes":[{"reason":"FieldValueTooLong","field":"note"}]`
	cases := map[string]struct {
		reason   string
		newGroup func() *http.Response
		core     func() *http.Response
		stored   bool
		lost     string
		requests int
	}{
		"GroupAbsent":                {"The router knows no such group.", groupUnknown, pass, true, "", 2},
		"GroupAbsentAndNoPermission": {"Authorization comes before routing.", refusal(403, "Forbidden", `"group":"events.k8s.io","kind":"events"`), pass, true, "", 2},
		"NamespaceAbsent":            {"core/v1 would say the same.", refusal(404, "NotFound", `"name":"runs","kind":"namespaces"`), pass, false, events.LostNamespaceGone, 1},
		"NamespaceTerminating":       {"A 403 as well, but no missing permission.", refusal(403, "Forbidden", terminating), pass, false, events.LostNamespaceGone, 1},
		"NeitherGranted": {
			"There is nothing to fall back to; both are asked twice within 20 seconds, since a role may be on its way.",
			refusal(403, "Forbidden", `"kind":"events"`), refusal(403, "Forbidden", `"kind":"events"`), false, events.LostForbidden, 4,
		},
		"Rejected":      {"422 is never worth another attempt, by either group.", refusal(422, "Invalid", tooLong), pass, false, events.LostRejected, 1},
		"CoreOnlyFails": {"A fault of the fallback is retried there.", groupUnknown, awayOnce(), true, "", 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := answeringByGroup(tc.newGroup, tc.core)
				rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{})
				require.NoError(t, err)
				stop := run(t, rec)
				rec.Failure(object("a"), errAway)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				err = rec.Flush(ctx)
				_ = stop()
				assert.Equal(t, tc.stored, len(w.stored) == 1, tc.reason)
				assert.Equal(t, tc.requests, w.requests, tc.reason)
				if tc.lost == "" {
					require.NoError(t, err, tc.reason)
					return
				}
				assert.Equal(t, map[string]int64{tc.lost: 1}, rec.Stats().Lost, tc.reason)
			})
		})
	}
}

// answeringByGroup answers the requests of each group; it stores those without
// an answer.
func answeringByGroup(newGroup, core func() *http.Response) *wire {
	return &wire{answer: func(req *http.Request) (*http.Response, error) {
		answer := core
		if strings.HasPrefix(req.URL.Path, "/apis/") {
			answer = newGroup
		}
		resp := answer()
		if resp == nil {
			return nil, errPass
		}
		return resp, nil
	}}
}

func pass() *http.Response { return nil }

func groupUnknown() *http.Response {
	return respond(http.StatusNotFound, []byte("404 page not found\n"), http.Header{"Content-Type": {"text/plain; charset=utf-8"}})
}

func refusal(code int, reason, details string) func() *http.Response {
	return func() *http.Response { return status(code, reason, details, nil) }
}

func awayOnce() func() *http.Response {
	var asked atomic.Int32
	return func() *http.Response {
		if asked.Add(1) == 1 {
			return status(503, "ServiceUnavailable", "", nil)
		}
		return nil
	}
}

//req:shows E3
func TestCoreEvents_CarryBothGenerationsOfFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(events.NewCoreSink(s.core), controller, events.Options{Instance: "pod-0"})
		require.NoError(t, err)
		stop := run(t, rec)
		began := time.Now()
		rec.Eventf(object("a"), object("b"), "Warning", "StepFailed", "Run", "step failed")
		synctest.Wait()
		require.Len(t, s.all(), 1)
		ev := s.all()[0]
		assert.Equal(t, int32(1), ev.DeprecatedCount)
		assert.Equal(t, controller, ev.DeprecatedSource.Component)
		assert.True(t, ev.DeprecatedFirstTimestamp.Time.Equal(began))
		assert.True(t, ev.DeprecatedLastTimestamp.Time.Equal(began))
		assert.True(t, ev.EventTime.Time.Equal(began))
		assert.Equal(t, [...]string{controller, "pod-0", "Run", "StepFailed", "step failed", "Warning"},
			[...]string{ev.ReportingController, ev.ReportingInstance, ev.Action, ev.Reason, ev.Note, ev.Type})
		assert.Equal(t, "a", ev.Regarding.Name)
		assert.Equal(t, "b", ev.Related.Name)
		for range 4 {
			time.Sleep(time.Second)
			rec.Eventf(object("a"), object("b"), "Warning", "StepFailed", "Run", "step failed")
		}
		last := time.Now()
		require.NoError(t, stop())
		ev = s.all()[0]
		assert.Equal(t, int32(5), ev.DeprecatedCount)
		assert.Equal(t, int32(5), ev.Series.Count)
		assert.True(t, ev.DeprecatedLastTimestamp.Time.Equal(last))
		assert.True(t, ev.Series.LastObservedTime.Time.Equal(last))
	})
}

func TestCoreEvents_AreCreatedWithTheirCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(events.NewCoreSink(s.core), controller, events.Options{})
		require.NoError(t, err)
		for range 3 {
			time.Sleep(time.Second)
			rec.Failure(object("a"), errAway)
		}
		last := time.Now()
		require.NoError(t, rec.Flush(t.Context()))
		require.Len(t, s.all(), 1)
		ev := s.all()[0]
		assert.Equal(t, int32(3), ev.DeprecatedCount)
		assert.True(t, ev.DeprecatedLastTimestamp.Time.Equal(last))
		require.NotNil(t, ev.Series)
		assert.Equal(t, int32(3), ev.Series.Count)
		assert.True(t, ev.Series.LastObservedTime.Time.Equal(last))
		host, err := os.Hostname()
		require.NoError(t, err)
		assert.Equal(t, host, ev.ReportingInstance, "without an Instance")
	})
}

func TestSeries_GoesOnInTheOtherGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var absent atomic.Bool
		s.refuse = func(_ context.Context, w request) error {
			if absent.Load() && w.group != "" {
				return groupAbsent()
			}
			return nil
		}
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		absent.Store(true)
		rec.Failure(object("a"), errAway)
		require.NoError(t, stop())
		require.Len(t, s.all(), 1)
		assert.Equal(t, int32(2), s.all()[0].Series.Count)
	})
}

func TestSink_MayHaveOneGroupOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.refuse = func(_ context.Context, w request) error {
			if w.object == "a" {
				return notGranted()
			}
			return nil
		}
		rec, err := events.New(events.NewSink[eventsFake, coreFake](s.events, nil), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		rec.Failure(object("a"), errAway)
		rec.Failure(object("b"), errAway)
		time.Sleep(time.Second)
		assert.Len(t, s.all(), 1)
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostForbidden: 1}, rec.Stats().Lost)
		assert.Contains(t, log[len(log)-1], "events.events.k8s.io is forbidden")
	})
}
