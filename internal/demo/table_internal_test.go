// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

func TestRender(t *testing.T) {
	rows := []row{
		{name: "happy", phase: "Succeeded", tone: good, age: 3 * time.Second, job: "happy-0123456789abcdef", event: "JobSucceeded: done"},
		{name: "missing-secret", phase: "Pending", tone: working, age: 12 * time.Second, event: "SecretNotFound x3: no Secret\nof that name, and a note that does not end"},
		{name: "later", age: -1},
	}
	for name, tc := range map[string]struct {
		reason   string
		width    int
		coloured bool
		want     string
	}{
		"Wide": {"Long names of Jobs are cut, and the last column gets the rest of the width.", 80, false, `
SAMPLE          PHASE      AGE  JOB             LAST EVENT
happy           Succeeded  3s   happy-0123456…  JobSucceeded: done
missing-secret  Pending    12s                  SecretNotFound x3: no Secret o…
later
a note
`},
		"Roomy": {"Only the last column is cut.", 110, false, `
SAMPLE          PHASE      AGE  JOB                     LAST EVENT
happy           Succeeded  3s   happy-0123456789abcdef  JobSucceeded: done
missing-secret  Pending    12s                          SecretNotFound x3: no Secret of that name, and a not…
later
a note
`},
		"Tiny": {"No line wraps at any width.", 6, false, `
SAMP…
happ…
miss…
later
a no…
`},
		"Coloured": {"Only the phase is coloured.", 80, true, `
SAMPLE          PHASE      AGE  JOB             LAST EVENT
happy           <32>Succeeded<0>  3s   happy-0123456…  JobSucceeded: done
missing-secret  <33>Pending<0>    12s                  SecretNotFound x3: no Secret o…
later
a note
`},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(render(rows, "a note", tc.width, tc.coloured), "\n") + "\n"
			got = strings.NewReplacer("\x1b[", "<", "32m", "32>", "33m", "33>", "0m", "0>").Replace(got)
			assert.Equal(t, strings.TrimPrefix(tc.want, "\n"), got, tc.reason)
		})
	}
	for width := range 200 {
		for _, l := range render(rows, "a note", width, false) {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), max(width-1, 1), "at %d columns", width)
		}
	}
}

func TestNoTableWhereNothingCanBeDrawnOver(t *testing.T) {
	assert.Nil(t, screenOf(new(bytes.Buffer), func(string) string { return "xterm" }), "a file or a pipe gets lines")
}

func TestDrawGoesOverWhatItDrew(t *testing.T) {
	var out bytes.Buffer
	width := 80
	s := &screen{out: &out, size: func() (int, int, error) { return width, 24, nil }}
	draw := func(lines ...string) string {
		out.Reset()
		s.draw(func(int, bool) []string { return lines })
		return out.String()
	}
	assert.Equal(t, "\ra\x1b[K\n\rb\x1b[K\n", draw("a", "b"), "the first table is drawn below earlier output")
	assert.Empty(t, draw("a", "b"), "nothing changed")
	assert.Equal(t, "\x1b[2A\rc\x1b[K\n\rb\x1b[K\n", draw("c", "b"), "the next table replaces it and clears the rest of each line")
	width = 40
	assert.Equal(t, "\rc\x1b[K\n\rb\x1b[K\n", draw("c", "b"), "after a resize the table is drawn below the wrapped lines")
	assert.True(t, s.fits(23))
	assert.False(t, s.fits(24), "lines that have left the screen cannot be drawn over")
}

func TestRowsOfSamples(t *testing.T) {
	began := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC))
	at := func(seconds int) metav1.Time { return metav1.NewTime(began.Add(time.Duration(seconds) * time.Second)) }
	one := &play.Sample{Run: &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, Copies: 1}
	l := newLive([]*play.Sample{one}, new(play.Jobs))
	rows, note := l.rows(at(1).Time)
	assert.Equal(t, []row{{name: "one", age: -1}}, rows, "not yet created")
	assert.Empty(t, note)

	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: "one", CreationTimestamp: began}}
	l.change(nil, run)
	event := func(reason string, seconds int) *corev1.Event {
		return &corev1.Event{InvolvedObject: corev1.ObjectReference{Name: "one"}, Reason: reason, Message: "m", EventTime: metav1.NewMicroTime(at(seconds).Time)}
	}
	l.change(nil, event("Second", 5))
	l.change(nil, event("First", 4))
	l.say("hello")
	rows, note = l.rows(at(7).Time)
	require.Len(t, rows, 1)
	assert.Equal(t, row{name: "one", phase: "(created)", tone: working, age: 7 * time.Second, event: "Second: m"}, rows[0], "the newest event is shown, in any order of arrival")
	assert.Equal(t, "(the demo) hello", note)

	ended := run.DeepCopy()
	ended.Status.Phase, ended.Status.FinishedAt = v1alpha1.Succeeded, new(at(9))
	l.change(run, ended)
	repeated := event("Second", 5)
	repeated.Series = &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at(8).Time)}
	l.change(nil, repeated)
	rows, _ = l.rows(at(20).Time)
	assert.Equal(t, row{name: "one", phase: "Succeeded", tone: good, age: 9 * time.Second, event: "Second x3: m"}, rows[0], "the age of an ended run does not grow")
}

func TestSummaryOfManyRuns(t *testing.T) {
	text, tone := summary(map[v1alpha1.Phase]int{v1alpha1.Succeeded: 2, v1alpha1.Running: 1}, 3)
	assert.Equal(t, "2 of 3 ended", text)
	assert.Equal(t, working, tone)
	text, tone = summary(map[v1alpha1.Phase]int{v1alpha1.Succeeded: 3}, 3)
	assert.Equal(t, "3 Succeeded", text)
	assert.Equal(t, good, tone)
	text, tone = summary(map[v1alpha1.Phase]int{v1alpha1.Succeeded: 2, v1alpha1.Failed: 1}, 3)
	assert.Equal(t, "1 Failed, 2 Succeeded", text)
	assert.Equal(t, bad, tone)
}
