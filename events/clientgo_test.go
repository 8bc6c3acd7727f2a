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
	for name, tc := range map[string]struct {
		clientGo string
		refuse   func(w request, since time.Duration) error
		do       func(rec *events.Recorder)
		creates  int
		reported map[string]int32 // by object, all counts together
		last     string           // the note of the last Event
	}{
		"ASingleEvent": {
			"one create", nil, func(rec *events.Recorder) { failWith(rec, "a", "x") }, 1, map[string]int32{"a": 1}, "x",
		},
		"TheSameEventCounts": {
			"a patch that sets count to 2", nil, repeat(2, time.Second, same), 1, map[string]int32{"a": 2}, "x",
		},
		"TheSameEventManyTimes": {
			"tools/record drops it as spam after 25, uncounted", nil, repeat(100, time.Millisecond, same), 1, map[string]int32{"a": 100}, "x",
		},
		"ManyUniqueEvents": {
			"all are created", nil, repeat(30, 0, func(rec *events.Recorder, i int) { failWith(rec, fmt.Sprint("run-", i), "x") }), 30, nil, "x",
		},
		"SimilarEventsAggregate": {
			"ten Events, then one with the prefix (combined from similar events)", nil, repeat(20, time.Millisecond, similar), 4, map[string]int32{"a": 20}, "attempt 19",
		},
		"SimilarEventsSpacedOut": {
			"each is created", nil, repeat(5, 15*time.Minute, similar), 5, map[string]int32{"a": 5}, "attempt 4",
		},
		"OtherObjectsDoNotAggregate": {
			"each is created", nil, repeat(15, 0, func(rec *events.Recorder, i int) { failWith(rec, fmt.Sprint("run-", i), fmt.Sprint("attempt ", i)) }), 15, nil, "",
		},
		"OtherTypesDoNotAggregate": {
			"two creates", nil, func(rec *events.Recorder) {
				rec.Eventf(object("a"), nil, "Normal", "Step", "Run", "x")
				rec.Eventf(object("a"), nil, "Warning", "Step", "Run", "x")
			}, 2, map[string]int32{"a": 2}, "x",
		},
		"AnEventThatExpired": {
			"a create after the patch was answered with 404", expiredAtPatch, repeat(3, time.Minute, same), 3, nil, "x",
		},
		"NoNamespace": {
			"the Event is in the namespace default", nil, func(rec *events.Recorder) {
				rec.Eventf(&corev1.ObjectReference{Kind: "Node", Name: "a"}, nil, "Normal", "Ready", "Run", "x")
			}, 1, map[string]int32{"a": 1}, "x",
		},
		"FieldPath": {
			"one Event each", nil, repeat(2, 0, func(rec *events.Recorder, i int) {
				path := fmt.Sprintf("spec.containers{%d}", i)
				rec.Eventf(&corev1.ObjectReference{Kind: "Pod", Namespace: "runs", Name: "a", FieldPath: path}, nil, "Normal", "Pulled", "Pull", "x")
			}), 2, map[string]int32{"a": 2}, "x",
		},
		"RelatedObjects": {
			"tools/events makes one series of each", nil, func(rec *events.Recorder) {
				rec.Eventf(object("a"), object("b"), "Normal", "Linked", "Link", "x")
				rec.Eventf(object("a"), object("c"), "Normal", "Linked", "Link", "x")
			}, 2, map[string]int32{"a": 2}, "x",
		},
		"ASeriesOfIsomorphicEvents": {
			"tools/events patches the second, and then once in 30 minutes", nil, repeat(60, time.Minute, same), 1, map[string]int32{"a": 60}, "x",
		},
		"ATransportErrorOfAWrite": {
			"tools/record tries twelve times, 10 s apart", failingFor(time.Minute, errors.New("connection refused")),
			func(rec *events.Recorder) { failWith(rec, "a", "x") }, 1,
			map[string]int32{"a": 1},
			"x",
		},
		"AStatusErrorOfAWrite": {
			"the Event is dropped", failingFor(time.Minute, unavailable()),
			func(rec *events.Recorder) { failWith(rec, "a", "x") }, 1,
			map[string]int32{"a": 1},
			"x",
		},
		"ALongMessage": {
			"tools/events: the API server refuses more than 1,024 bytes", nil, func(rec *events.Recorder) { failWith(rec, "a", strings.Repeat("ab ", 1000)) },
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
				s := &server{}
				if tc.refuse != nil {
					began := time.Now()
					s.refuse = func(_ context.Context, w request) error { return tc.refuse(w, time.Since(began)) }
				}
				rec, stop := start(t, s, events.Options{})
				tc.do(rec)
				time.Sleep(30 * time.Minute)
				assert.Len(t, s.all(), tc.creates, "client-go: %s", tc.clientGo)
				if tc.reported != nil {
					assert.Equal(t, tc.reported, countsByObject(s), "client-go: %s", tc.clientGo)
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

func countsByObject(s *server) map[string]int32 {
	counts := map[string]int32{}
	for _, ev := range s.all() {
		counts[ev.Regarding.Name] += countOf(ev)
	}
	return counts
}

func failWith(rec *events.Recorder, name, note string) {
	rec.Eventf(object(name), nil, "Warning", "Failed", "Run", "%s", note)
}

func same(rec *events.Recorder, _ int) { failWith(rec, "a", "x") }

func similar(rec *events.Recorder, i int) { failWith(rec, "a", fmt.Sprint("attempt ", i)) }

// repeat makes n calls with pauses.
func repeat(n int, pause time.Duration, call func(rec *events.Recorder, i int)) func(*events.Recorder) {
	return func(rec *events.Recorder) {
		for i := range n {
			call(rec, i)
			time.Sleep(pause)
		}
	}
}

func expiredAtPatch(w request, _ time.Duration) error {
	if w.verb == "patch" {
		return expired(w.name)
	}
	return nil
}

// failingFor refuses what is asked in the first length of a scenario.
func failingFor(length time.Duration, err error) func(request, time.Duration) error {
	return func(_ request, since time.Duration) error {
		if since < length {
			return err
		}
		return nil
	}
}
