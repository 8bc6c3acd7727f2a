// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events"
)

// TestClientGoScenarios runs the scenarios in which client-go v0.37 tests its
// correlator and recorders (tools/record events_cache_test.go and
// event_test.go, tools/events eventseries_test.go). What it expects is in
// clientGo; the differences are in examples/migrate/client-go-events.md.
func TestClientGoScenarios(t *testing.T) {
	fail := func(rec *events.Recorder, name, note string) {
		rec.Eventf(object(name), nil, "Warning", "Failed", "Run", "%s", note)
	}
	for name, tc := range map[string]struct {
		clientGo string
		refuse   func(w request) error
		do       func(rec *events.Recorder)
		creates  int
		told     map[string]int32 // by object, all counts together
		last     string           // the note of the last Event
	}{
		"ASingleEvent": {
			"one create", nil, func(rec *events.Recorder) { fail(rec, "a", "x") }, 1, map[string]int32{"a": 1}, "x",
		},
		"TheSameEventCounts": {
			"a patch that sets count to 2", nil, func(rec *events.Recorder) {
				fail(rec, "a", "x")
				time.Sleep(time.Second)
				fail(rec, "a", "x")
			}, 1, map[string]int32{"a": 2}, "x",
		},
		"TheSameEventManyTimes": {
			"tools/record drops it as spam after 25, uncounted", nil, func(rec *events.Recorder) {
				for range 100 {
					fail(rec, "a", "x")
					time.Sleep(time.Millisecond)
				}
			}, 1, map[string]int32{"a": 100}, "x",
		},
		"ManyUniqueEvents": {
			"all are created", nil, func(rec *events.Recorder) {
				for i := range 30 {
					fail(rec, fmt.Sprint("run-", i), "x")
				}
			}, 30, nil, "x",
		},
		"SimilarEventsAggregate": {
			"ten Events, then one with the prefix (combined from similar events)", nil, func(rec *events.Recorder) {
				for i := range 20 {
					fail(rec, "a", fmt.Sprint("attempt ", i))
					time.Sleep(time.Millisecond)
				}
			}, 2, map[string]int32{"a": 20}, "attempt 19",
		},
		"SimilarEventsSpacedOut": {
			"each is created", nil, func(rec *events.Recorder) {
				for i := range 5 {
					fail(rec, "a", fmt.Sprint("attempt ", i))
					time.Sleep(15 * time.Minute)
				}
			}, 5, map[string]int32{"a": 5}, "attempt 4",
		},
		"OtherObjectsDoNotAggregate": {
			"each is created", nil, func(rec *events.Recorder) {
				for i := range 15 {
					fail(rec, fmt.Sprint("run-", i), fmt.Sprint("attempt ", i))
				}
			}, 15, nil, "",
		},
		"OtherTypesDoNotAggregate": {
			"two creates", nil, func(rec *events.Recorder) {
				rec.Eventf(object("a"), nil, "Normal", "Step", "Run", "x")
				rec.Eventf(object("a"), nil, "Warning", "Step", "Run", "x")
			}, 2, map[string]int32{"a": 2}, "x",
		},
		"AnEventThatExpired": {
			"a create after the patch was answered with 404", func(w request) error {
				if w.verb == "patch" {
					return expired(w.name)
				}
				return nil
			}, func(rec *events.Recorder) {
				for range 2 {
					fail(rec, "a", "x")
					time.Sleep(time.Minute)
				}
				fail(rec, "a", "x")
			}, 2, nil, "x",
		},
		"NoNamespace": {
			"the Event is in the namespace default", nil, func(rec *events.Recorder) {
				rec.Eventf(&corev1.ObjectReference{Kind: "Node", Name: "a"}, nil, "Normal", "Ready", "Run", "x")
			}, 1, map[string]int32{"a": 1}, "x",
		},
		"FieldPath": {
			"one Event each", nil, func(rec *events.Recorder) {
				for _, path := range []string{"spec.containers{a}", "spec.containers{b}"} {
					rec.Eventf(&corev1.ObjectReference{Kind: "Pod", Namespace: "runs", Name: "a", FieldPath: path}, nil, "Normal", "Pulled", "Pull", "x")
				}
			}, 2, map[string]int32{"a": 2}, "x",
		},
		"RelatedObjects": {
			"tools/events makes one series of each", nil, func(rec *events.Recorder) {
				rec.Eventf(object("a"), object("b"), "Normal", "Linked", "Link", "x")
				rec.Eventf(object("a"), object("c"), "Normal", "Linked", "Link", "x")
			}, 2, map[string]int32{"a": 2}, "x",
		},
		"ASeriesOfIsomorphicEvents": {
			"tools/events patches the second, and then once in 30 minutes", nil, func(rec *events.Recorder) {
				for range 60 {
					fail(rec, "a", "x")
					time.Sleep(time.Minute)
				}
			}, 1, map[string]int32{"a": 60}, "x",
		},
		"ATransportErrorOfAWrite": {
			"tools/record tries twelve times, 10 s apart", failingFor(time.Minute, errors.New("connection refused")),
			func(rec *events.Recorder) { fail(rec, "a", "x") }, 1,
			map[string]int32{"a": 1},
			"x",
		},
		"AStatusErrorOfAWrite": {
			"the Event is dropped", failingFor(time.Minute, unavailable()),
			func(rec *events.Recorder) { fail(rec, "a", "x") }, 1,
			map[string]int32{"a": 1},
			"x",
		},
		"ALongMessage": {
			"tools/events: the API server refuses more than 1,024 bytes", nil, func(rec *events.Recorder) { fail(rec, "a", strings.Repeat("ab ", 1000)) },
			1,
			map[string]int32{"a": 1},
			strings.Repeat("ab ", 342)[:1024],
		},
		"AnInvalidType": {
			"an error in the log", nil, func(rec *events.Recorder) { rec.Eventf(object("a"), nil, "Invalid", "A", "", "") }, 0, nil, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &server{refuse: func(_ context.Context, w request) error {
					if tc.refuse == nil {
						return nil
					}
					w.at = time.Time{}.Add(time.Since(began))
					return tc.refuse(w)
				}}
				rec, stop := start(t, s, events.Options{})
				tc.do(rec)
				time.Sleep(30 * time.Minute)
				assert.Len(t, s.all(), tc.creates, "client-go: %s", tc.clientGo)
				told := map[string]int32{}
				for _, ev := range s.all() {
					told[ev.Regarding.Name]++
					if ev.Series != nil {
						told[ev.Regarding.Name] += ev.Series.Count - 1
					}
				}
				if tc.told != nil {
					assert.Equal(t, tc.told, told, "client-go: %s", tc.clientGo)
				}
				if tc.last != "" {
					assert.Equal(t, tc.last, s.all()[len(s.all())-1].Note)
				}
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
}

// failingFor refuses what is asked in the first length of a scenario.
func failingFor(length time.Duration, err error) func(w request) error {
	return func(w request) error {
		if w.at.Sub(time.Time{}) < length {
			return err
		}
		return nil
	}
}
