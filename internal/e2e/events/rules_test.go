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

// TestRulesOfTheServer: the API server has each rule by which the package's
// own tests check what a Recorder writes, from ValidateEventCreate in
// k8s.io/kubernetes pkg/apis/core/validation/events.go. Other tests of this
// suite show that it takes such Events.
func TestRulesOfTheServer(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, tc := range map[string]struct {
		reason string
		breach func(ev *eventsv1.Event) // changes a valid Event so that it breaks the rule
		field  string                   // that the refusal names; "" when the Event is accepted
	}{
		"InstanceTooLong":   {"128 bytes.", func(ev *eventsv1.Event) { ev.ReportingInstance = long(129) }, "reportingInstance"},
		"ActionEmpty":       {"It is required.", func(ev *eventsv1.Event) { ev.Action = "" }, "action"},
		"ReasonAtTheLimit":  {"128 bytes, of any shape.", func(ev *eventsv1.Event) { ev.Reason = "no CamelCase " + long(115) }, ""},
		"NoteAtTheLimit":    {"1,024 bytes.", func(ev *eventsv1.Event) { ev.Note = strings.Repeat("é", 512) }, ""},
		"NoteCountsBytes":   {"513 characters of two bytes are 1,026.", func(ev *eventsv1.Event) { ev.Note = strings.Repeat("é", 513) }, "message"},
		"SeriesWithoutTime": {"Required.", func(ev *eventsv1.Event) { ev.Series = &eventsv1.EventSeries{Count: 2} }, "series.lastObservedTime"},
		"NameNoSubdomain":   {"The name of a role may be invalid for an Event.", func(ev *eventsv1.Event) { ev.Name = "System:Run_1.17" }, "metadata.name"},
		"NameAtTheLimit":    {"253 bytes.", func(ev *eventsv1.Event) { ev.Name = long(253) }, ""},
		"NameTooLong":       {"253 bytes.", func(ev *eventsv1.Event) { ev.Name = long(254) }, "metadata.name"},
		"ClusterScoped":     {"default or kube-system.", func(ev *eventsv1.Event) { ev.Regarding.Namespace = "" }, "involvedObject.namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newStage(t, plane).breaks(t, tc.breach, tc.field, tc.reason)
		})
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
	assert.ErrorContains(t, err, field+": ", reason)
}

// TestControllerNames: New refuses the names that the API server refuses in
// every Event.
func TestControllerNames(t *testing.T) {
	t.Parallel()
	longest := "a.example.com/" + strings.Repeat("x", 63) // after the prefix, which is a domain
	for name, accepted := range map[string]bool{
		"agentrun": true, "agents.example.com/agentrun": true, longest: true,
		longest + "x": false, "": false, "agent run": false, "a/b/c": false, "A_b/c": false,
	} {
		s := newStage(t, plane)
		field := "reportingController"
		if accepted {
			field = ""
		}
		s.breaks(t, func(ev *eventsv1.Event) { ev.ReportingController = name }, field, name)
		_, err := events.New(bothGroups(s.kube), name, events.Options{})
		assert.Equal(t, accepted, err == nil, "%s: %v", name, err)
	}
}
