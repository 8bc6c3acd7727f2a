// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/proompteng/controllerkit/events"
)

// scenarios are what one object may do for an hour, ten seconds apart.
var scenarios = []struct {
	name   string
	reason string
	occur  func(o occurrences, i int)
	want   int // Events of a Recorder
}{
	{
		"fails and recovers in turn", "Two reasons take no token.",
		func(o occurrences, i int) { o.failure([...]error{errAway, nil}[i%2]) }, 23,
	},
	{"nine reasons in turn", "Eight are free.", func(o occurrences, i int) { o.event(fmt.Sprint("R", i%9), "") }, 9},
	{"nine related objects in turn", "One reason is free.", func(o occurrences, i int) { o.event("R", strconv.Itoa(i%9)) }, 9},
	{"sixteen reasons in turn", "Each has its series.", func(o occurrences, i int) { o.event(fmt.Sprint("R", i%16), "") }, 16},
	{"a text that never repeats", "It waits for a token.", func(o occurrences, i int) { o.failure(fmt.Errorf("attempt %d", i)) }, 22},
	{"four texts in turn", "As a text that never repeats.", func(o occurrences, i int) { o.failure(fmt.Errorf("attempt %d", i%4)) }, 22},
	{"one text", "It is counted.", func(o occurrences, _ int) { o.failure(errAway) }, 1},
	{"one text, and another after half an hour", "It is shown.", func(o occurrences, i int) { o.failure(fmt.Errorf("attempt %d", i/180)) }, 2},
}

// occurrences are how a scenario is recorded.
type occurrences struct {
	failure func(err error) // nil is a recovery
	event   func(reason, related string)
}

// hour plays a scenario.
func hour(o occurrences, occur func(o occurrences, i int)) {
	for i := range 360 {
		occur(o, i)
		time.Sleep(10 * time.Second)
	}
}

// TestEventsAnHour are bounded by the second bucket of an object: ten, and then
// one in five minutes, and one for each of eight reasons. The table of the
// guide compares them with those of client-go.
//
//req:shows E6
func TestEventsAnHour(t *testing.T) {
	guide, err := os.ReadFile("../examples/migrate/client-go-events.md")
	require.NoError(t, err)
	compared := 0
	for _, tc := range scenarios {
		t.Run(tc.name, func(t *testing.T) {
			events, requests := hourOfRecorder(t, tc.occur)
			assert.Equal(t, tc.want, events, tc.reason)
			peer, patches := hourOfClientGo(t, tc.occur)
			row := fmt.Sprintf("| an hour, each 10 s: %s | %d Events, %d updates | %d Events, %d updates |",
				tc.name, peer, patches, events, requests-events)
			t.Log(row)
			if strings.Contains(string(guide), "each 10 s: "+tc.name+" |") {
				assert.Contains(t, string(guide), row)
				compared++
			}
		})
	}
	assert.Equal(t, 3, compared, "rows of the guide")
}

func hourOfRecorder(t *testing.T, occur func(o occurrences, i int)) (n, requests int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		hour(occurrences{
			failure: func(err error) { rec.Failure(object("a"), err) },
			event: func(reason, related string) {
				rec.Eventf(object("a"), object(related), "Normal", reason, "Run", "same")
			},
		}, occur)
		n = len(s.all())
		requests = len(s.asked())
		assert.Empty(t, rec.Stats().Lost)
		assertCap(t, s, 5)
		require.NoError(t, stop())
	})
	return n, requests
}

// A peerSink counts what client-go's tools/record writes.
type peerSink struct{ creates, patches atomic.Int64 }

func (s *peerSink) Create(event *corev1.Event) (*corev1.Event, error) {
	s.creates.Add(1)
	return event, nil
}

func (s *peerSink) Update(event *corev1.Event) (*corev1.Event, error) {
	s.patches.Add(1)
	return event, nil
}

func (s *peerSink) Patch(event *corev1.Event, _ []byte) (*corev1.Event, error) {
	s.patches.Add(1)
	return event, nil
}

// hourOfClientGo plays a scenario to tools/record, as most controllers use it:
// a failure is a Warning, and a recovery a Normal.
func hourOfClientGo(t *testing.T, occur func(o occurrences, i int)) (creates, patches int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sink := &peerSink{}
		broadcaster := record.NewBroadcaster()
		broadcaster.StartRecordingToSink(sink)
		rec := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "agentrun"})
		hour(occurrences{
			failure: func(err error) {
				if err == nil {
					rec.Event(object("a"), "Normal", "Recovered", "recovered")
					return
				}
				rec.Event(object("a"), "Warning", "InternalError", err.Error())
			},
			event: func(reason, _ string) { rec.Event(object("a"), "Normal", reason, "same") },
		}, occur)
		broadcaster.Shutdown()
		synctest.Wait()
		creates = int(sink.creates.Load())
		patches = int(sink.patches.Load())
	})
	return creates, patches
}

// TestNewReason_DoesNotWaitBehindAFlappingOne: it takes a token for a request
// only.
//
//req:shows E2
func TestNewReason_DoesNotWaitBehindAFlappingOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		for i := range 360 {
			rec.Failure(object("a"), [...]error{errAway, nil}[i%2])
			time.Sleep(10 * time.Second)
		}
		rec.Eventf(object("a"), nil, "Warning", "New", "Run", "first")
		synctest.Wait()
		assert.Equal(t, "New", s.all()[len(s.all())-1].Reason)
	})
}

// TestFirstEvent_IsKeptWhileOthersWait: an object that does not wait makes room.
func TestFirstEvent_IsKeptWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			room = 800
			wait = 500
		)
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{MaxObjects: room, TotalWritesPerSecond: 1e6})
		require.NoError(t, err)
		for i, o := range objects(30 * room) {
			rec.Failure(o, errAway)
			if i%wait == 0 {
				require.NoError(t, rec.Flush(t.Context()))
			}
		}
		assert.Empty(t, rec.Stats().Lost)
	})
}

// TestSeries_OfAllObjectsAreBounded: four times MaxObjects in all. Others are
// dropped.
func TestSeries_OfAllObjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{MaxObjects: 10, TotalWritesPerSecond: 1e6, WritesPerMinute: 6000})
		for i, o := range objects(300) {
			for j := range 20 {
				rec.Eventf(o, nil, "Normal", fmt.Sprint("R", j), "Run", "")
				synctest.Wait()
				kept, series, _ := events.Kept(rec)
				require.LessOrEqual(t, kept, 10)
				require.LessOrEqual(t, series, 40)
			}
			require.Empty(t, events.Unbalanced(rec), "object %d", i)
		}
		_ = stop()
	})
}

// TestSeries_ThatIsBeingWrittenIsNotDropped: its request may fail.
func TestSeries_ThatIsBeingWrittenIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Bool
		s := &server{refuse: func(context.Context, request) error {
			if asked.Swap(true) {
				return nil
			}
			time.Sleep(time.Second)
			return unavailable()
		}}
		rec, _ := start(t, s, events.Options{MaxObjects: 1})
		for i := range 5 {
			rec.Eventf(object("a"), nil, "Normal", fmt.Sprint("R", i), "Run", "")
			synctest.Wait()
		}
		assert.Equal(t, map[string]int64{events.LostSeriesFull: 1}, rec.Stats().Lost, "four series wait")
		time.Sleep(time.Hour)
		assert.Len(t, s.all(), 4)
		assert.Empty(t, events.Unbalanced(rec))
	})
}

// TestSeries_OfAnotherObjectIsDropped, where those of the object wait.
func TestSeries_OfAnotherObjectIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{MaxObjects: 2})
		for i := range 4 {
			rec.Eventf(object("a"), nil, "Normal", fmt.Sprint("R", i), "Run", "")
		}
		time.Sleep(time.Hour)
		for i := range 8 {
			rec.Eventf(object("b"), nil, "Normal", fmt.Sprint("R", i), "Run", "")
		}
		time.Sleep(time.Hour)
		assert.Len(t, s.all(), 12)
		for i, o := range objects(8) {
			for j := range 8 {
				rec.Eventf(o, nil, "Normal", fmt.Sprint("R", j), "Run", "")
			}
			time.Sleep(time.Hour)
			assert.Len(t, s.all(), 12+8*(i+1), "the last one is evicted, not the new one")
		}
		assert.Empty(t, rec.Stats().Lost)
	})
}

// TestSeries_WithACountIsDropped for another. The Event of the count is stored.
func TestSeries_WithACountIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, _ := start(t, &server{}, events.Options{MaxObjects: 1})
		for _, pause := range []time.Duration{2 * time.Minute, 0, 0} {
			for i := range 4 {
				rec.Eventf(object("a"), nil, "Normal", fmt.Sprint("R", i), "Run", "")
				synctest.Wait()
			}
			time.Sleep(pause)
		}
		require.Equal(t, int64(5), rec.Stats().Pending, "each series has a count that waits")
		rec.Eventf(object("a"), nil, "Normal", "R4", "Run", "")
		assert.Empty(t, events.Unbalanced(rec))
		assert.Empty(t, rec.Stats().Lost)
	})
}

// TestSeries_ThatWasRejectedIsDropped for another.
func TestSeries_ThatWasRejectedIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return rejected() }}
		rec, _ := start(t, s, events.Options{MaxObjects: 1})
		for i := range 8 {
			rec.Eventf(object("a"), nil, "Normal", fmt.Sprint("R", i), "Run", "")
			time.Sleep(time.Minute)
		}
		rec.Failure(object("b"), errAway)
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]int64{events.LostRejected: 9}, rec.Stats().Lost, "nor does its object stay")
	})
}

// TestRefusalInOneNamespace_LeavesTheOthersTheirGroup: a Role is of one
// namespace.
//
//req:shows E3
func TestRefusalInOneNamespace_LeavesTheOthersTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.namespace == "tenant" && w.group != "" {
				return notGranted()
			}
			return nil
		}}
		rec, _ := start(t, s, events.Options{})
		for i := range 20 {
			rec.Failure(inNamespace("tenant", fmt.Sprint("a-", i)), errAway)
			rec.Failure(inNamespace("other", fmt.Sprint("b-", i)), errAway)
			time.Sleep(time.Second)
		}
		assert.Len(t, s.all(), 40)
		assert.Zero(t, s.count(func(w request) bool { return w.namespace == "other" && w.group == "" }))
		refused := s.count(func(w request) bool { return w.namespace == "tenant" && w.group != "" })
		assert.Equal(t, 1, refused, "the namespace is asked once in ten minutes")
	})
}

// TestRecorder_IsNoRunnable: controller-runtime stops a Runnable before the
// reconcilers, whose last Events would be lost.
func TestRecorder_IsNoRunnable(t *testing.T) {
	rec, err := events.New((&server{}).sink(), controller, events.Options{})
	require.NoError(t, err)
	_, isRunnable := any(rec).(interface {
		Start(ctx context.Context) error
	})
	assert.False(t, isRunnable)
}

// TestRecovered_ComesAfterItsFailure, also where the text of the failure has to
// wait for a token, and is not written when the object fails again before.
func TestRecovered_ComesAfterItsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		for i := range 12 { // the last one waits
			rec.Failure(object("a"), fmt.Errorf("attempt %d", i))
			time.Sleep(20 * time.Second)
		}
		rec.Failure(object("a"), errors.New("last"))
		rec.Failure(object("a"), nil)
		time.Sleep(time.Hour)
		all := s.all()
		assert.Equal(t, "last", all[len(all)-2].Note)
		assert.Equal(t, events.Recovered, all[len(all)-1].Reason)

		before := len(all)
		for i := range 3 {
			rec.Failure(object("a"), fmt.Errorf("again %d", i))
			rec.Failure(object("a"), nil)
		}
		rec.Failure(object("a"), errors.New("again"))
		time.Sleep(time.Hour)
		all = s.all()[before:]
		assert.Equal(t, "again", all[len(all)-1].Note, "the last row is what the object is")
	})
}
