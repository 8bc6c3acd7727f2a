// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
)

// A rule is a validation rule of the API server for a new Event of
// events.k8s.io/v1, from ValidateEventCreate in k8s.io/kubernetes
// pkg/apis/core/validation/events.go.
type rule struct {
	reason string
	breach func(ev *eventsv1.Event) // changes a valid Event so that it breaks the rule
	field  string                   // that the refusal names

	// The same asked of a Recorder, through either group: what it stores passes
	// check.
	record func(r *events.Recorder, s *stage)
	o      events.Options
	check  func(ev corev1.Event) bool
}

func long(n int) string { return strings.Repeat("x", n) }

// eventf records an Event with every field that can be wrong.
func eventf(eventtype, reason, action, note string) func(*events.Recorder, *stage) {
	return func(r *events.Recorder, s *stage) {
		r.Eventf(s.reference("a"), nil, eventtype, reason, action, "%s", note)
	}
}

// fails records a failure of an object with this name.
func fails(name string, times int) func(*events.Recorder, *stage) {
	return func(r *events.Recorder, s *stage) {
		for range times {
			r.Failure(s.reference(name), errAway)
		}
	}
}

func rules() map[string]rule {
	return map[string]rule{
		"InstanceTooLong": {
			reason: "128 bytes.", breach: func(ev *eventsv1.Event) { ev.ReportingInstance = long(129) }, field: "reportingInstance",
			record: fails("a", 1), o: events.Options{Instance: long(129)},
			check: func(ev corev1.Event) bool { return ev.ReportingInstance == long(128) },
		},
		"ActionEmpty": {
			reason: "It is required.", breach: func(ev *eventsv1.Event) { ev.Action = "" }, field: "action",
			record: eventf("Normal", "A", "", ""), check: func(ev corev1.Event) bool { return ev.Action == "A" },
		},
		"NoteTooLong": {
			reason: "1,024 bytes.", breach: func(ev *eventsv1.Event) { ev.Note = strings.Repeat("word ", 205) }, field: "message",
			record: eventf("Normal", "A", "B", strings.Repeat("word ", 205)),
			check:  func(ev corev1.Event) bool { return len(ev.Message) > 1000 && len(ev.Message) <= 1024 },
		},
		"NoteCountsBytes": {
			reason: "513 characters of two bytes are 1,026.", breach: func(ev *eventsv1.Event) { ev.Note = strings.Repeat("é", 513) }, field: "message",
			record: eventf("Normal", "A", "B", strings.Repeat("é", 513)),
			check:  func(ev corev1.Event) bool { return ev.Message == strings.Repeat("é", 512) },
		},
		"SeriesWithoutTime": {
			reason: "Required.", field: "series.lastObservedTime",
			breach: func(ev *eventsv1.Event) { ev.Series = &eventsv1.EventSeries{Count: 2} },
			record: fails("a", 2), check: func(ev corev1.Event) bool { return reported(ev) == 2 && !ev.Series.LastObservedTime.IsZero() },
		},
		"NameNoSubdomain": {
			reason: "The name of a role or a user may be invalid for an Event.", breach: func(ev *eventsv1.Event) { ev.Name = "System:Run_1.17" }, field: "metadata.name",
			record: fails("System:Run_1", 1), check: func(ev corev1.Event) bool { return strings.HasPrefix(ev.Name, "event.") },
		},
		"NameTooLong": {
			reason: "253 bytes, and the object's name may be as long.", breach: func(ev *eventsv1.Event) { ev.Name = long(254) }, field: "metadata.name",
			record: fails(long(253), 1), check: func(ev corev1.Event) bool { return strings.HasPrefix(ev.Name, long(236)+".") },
		},
		"NamespaceOfAClusterScopedObject": {
			reason: "default or kube-system.", breach: func(ev *eventsv1.Event) { ev.Regarding.Namespace = "" }, field: "involvedObject.namespace",
			record: func(r *events.Recorder, s *stage) {
				r.Failure(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: s.namespace}, errAway)
			},
			check: func(ev corev1.Event) bool { return ev.Namespace == "default" },
		},
	}
}

// valid returns an Event that the API server accepts.
func (s *stage) valid() *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: "a.17", Namespace: s.namespace},
		EventTime:           metav1.NowMicro(),
		ReportingController: "others.example.com/x", ReportingInstance: "x", Action: "B", Reason: "A", Type: "Normal", Note: "n",
		Regarding: corev1.ObjectReference{APIVersion: "agents.example.com/v1", Kind: "AgentRun", Namespace: s.namespace, Name: "a"},
	}
}

// breaks creates a valid Event after breach. The refusal must name the field;
// "" means that the Event is accepted.
func (s *stage) breaks(t *testing.T, breach func(*eventsv1.Event), field, reason string) {
	t.Helper()
	ev := s.valid()
	breach(ev)
	_, err := s.kube.EventsV1().Events(s.namespace).Create(t.Context(), ev, metav1.CreateOptions{})
	if field == "" {
		require.NoError(t, err, reason)
		return
	}
	require.True(t, apierrors.IsInvalid(err), "%s: %v", reason, err)
	assert.Contains(t, fields(err), field, reason)
}

// fields returns the fields in a refusal.
func fields(err error) (fields []string) {
	for _, c := range details(err).Causes {
		fields = append(fields, c.Field)
	}
	return fields
}

// TestRulesOfTheServer: the API server has each rule, and takes what a Recorder
// writes at its limit, through both groups.
func TestRulesOfTheServer(t *testing.T) {
	t.Parallel()
	for name, tc := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newStage(t, plane).breaks(t, tc.breach, tc.field, tc.reason)
			for group, w := range map[string]way{"events": bothGroups, "core": coreOnly} {
				s := newStage(t, plane)
				r := record(t, plane.Config(), w, tc.o)
				tc.record(r.Recorder, s)
				r.flushed(t)
				stored := s.stored(t)
				for _, ev := range s.storedIn(t, "default") {
					if ev.InvolvedObject.Name == s.namespace {
						stored = append(stored, ev)
					}
				}
				require.Len(t, stored, 1, group)
				assert.True(t, tc.check(stored[0]), "%s: %s: %+v", group, tc.reason, stored[0])
				for _, sent := range r.wire.Sent() {
					assert.Regexp(t, `^(20[01]|0)$`, sent.Code, "%s: nothing was refused, 0 is no answer: %s", group, sent.Body)
				}
			}
		})
	}
}

// TestControllerNames: New refuses the names that the API server refuses in
// every Event.
func TestControllerNames(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, name string
		accepted     bool
	}{
		"Plain":    {"A name without a prefix is valid.", "agentrun", true},
		"Prefixed": {"The prefix is a domain.", "agents.example.com/agentrun", true},
		"Longest":  {"63 bytes after the prefix.", "a.example.com/" + long(63), true},
		"TooLong":  {"64.", "a.example.com/" + long(64), false},
		"Empty":    {"It is required.", "", false},
		"Space":    {"Only - _ and . are valid.", "agent run", false},
		"Slashes":  {"One prefix.", "a/b/c", false},
		"Prefix":   {"The prefix must be a domain.", "A_b/c", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, plane)
			field := "reportingController"
			if tc.accepted {
				field = ""
			}
			s.breaks(t, func(ev *eventsv1.Event) { ev.ReportingController = tc.name }, field, tc.reason)
			_, err := events.New(bothGroups(s.kube), tc.name, events.Options{})
			assert.Equal(t, tc.accepted, err == nil, "%s: %v", tc.reason, err)
		})
	}
}
