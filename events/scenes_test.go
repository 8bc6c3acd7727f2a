// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/events"
)

// maxSceneLines is how long a scene may be: one screen.
const maxSceneLines = 60

// TestScenes plays the scenes in testdata/scenes. Each shows one rule of a
// Recorder: the calls that record, and the requests that follow, of a Recorder
// that runs. After each command its accounts balance and the caps hold. With
// -rewrite the test writes the output into the scenes.
//
// Read these ten first: first, text, new-reason, flapping, cap, total, unsure,
// namespace-fails, core-namespace, stop.
//
// The commands are:
//
//   - recorder: a new one, with objects=, writes= (a minute), total= (a second)
//   - fail: an object fails, with a reason, text=, maybe conflict, times=,
//     every=, by= (the controller)
//   - event: a Normal or Warning about an object, with a reason, text=, times=,
//     every=, related=. A # in a text, a reason, a related object or an object
//     is the number of the call
//   - recover: the object has recovered
//   - server: its answer to a namespace, to an API group of a namespace, or to
//     all, until the next answer
//   - at: time passes until then
//   - flush: a Flush with a deadline, in=; stop: the Recorder ends
//   - count: requests are counted and not shown; show: they are shown again
//   - stats: the counts of the Recorder
func TestScenes(t *testing.T) {
	files, err := filepath.Glob("testdata/scenes/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{}
				s.begin(t, events.Options{})
				datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
					t.Helper()
					return s.play(t, d)
				})
				s.end(t)
			})
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, bytes.HasPrefix(text, []byte("# ")), "begin with a comment that states the rule")
			assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), maxSceneLines, "make two scenes of it")
		})
	}
}

// A scene is a Recorder, and an API server with given answers.
type scene struct {
	*server

	recorder *events.Recorder
	perMin   int
	total    float64
	stop     func() error
	began    time.Time
	answers  map[string]string // by "namespace group", namespace or "all"
	shown    int               // requests
	isHidden bool
}

func (s *scene) begin(t *testing.T, o events.Options) {
	t.Helper()
	s.server = &server{refuse: s.answer}
	s.answers = map[string]string{}
	s.shown = 0
	s.began = time.Now()
	s.perMin = max(o.WritesPerMinute, 0)
	if s.perMin == 0 {
		s.perMin = 5
	}
	s.total = o.TotalWritesPerSecond
	if s.total == 0 {
		s.total = 20
	}
	s.recorder, s.stop = start(t, s.server, o)
	synctest.Wait()
}

func (s *scene) end(t *testing.T) {
	t.Helper()
	require.NoError(t, s.stop())
	assertAccounts(t, s.recorder)
	assertCap(t, s.server, s.perMin)
	assertTotal(t, s.server, s.total)
}

// answer is what the server says to a request.
func (s *scene) answer(ctx context.Context, w request) error {
	group := "events"
	if w.group == "" {
		group = "core"
	}
	for _, who := range []string{w.namespace + ":" + group, w.namespace, "all"} {
		name, ok := s.answers[who]
		if ok {
			return answerNamed(ctx, name, w)
		}
	}
	return nil
}

// answerNamed returns an answer by the name that scenes give it.
func answerNamed(ctx context.Context, name string, w request) error {
	switch name {
	case "403":
		return notGranted()
	case "absent":
		return groupAbsent()
	case "422":
		return rejected()
	case "gone":
		return namespaceAbsent()
	case "expired":
		if w.verb == "patch" {
			return expired("x")
		}
	case "500":
		return failures()["500"](ctx)
	case "503":
		return unavailable()
	case "stored": // and no answer comes
		return storedError{unavailable()}
	case "hangs":
		return failures()["Hangs"](ctx)
	case "down":
		return errors.New("connection refused")
	}
	return nil
}

func (s *scene) play(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out strings.Builder
	switch d.Cmd {
	case "recorder":
		s.end(t)
		s.begin(t, events.Options{
			MaxObjects:           number(t, d, "objects", 0),
			WritesPerMinute:      number(t, d, "writes", 0),
			TotalWritesPerSecond: float64(number(t, d, "total", 0)),
		})
	case "fail", "event", "recover":
		s.record(t, d)
	case "server":
		s.answers[d.CmdArgs[0].Key] = d.CmdArgs[1].Key
	case "at":
		until, err := time.ParseDuration(d.CmdArgs[0].Key)
		require.NoError(t, err, d.Pos)
		time.Sleep(time.Until(s.began.Add(until)))
	case "flush":
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(number(t, d, "in", 60))*time.Second)
		fmt.Fprintln(&out, s.recorder.Flush(ctx))
		cancel()
	case "stop":
		require.NoError(t, s.stop())
	case "count":
		s.isHidden = true
	case "show":
		s.isHidden = false
	case "stats":
		st := s.recorder.Stats()
		fmt.Fprintf(&out, "recorded %d, written %d, pending %d, lost %v, retried %d\n",
			st.Recorded, st.Written, st.Pending, st.Lost, st.Retried)
	default:
		d.Fatalf(t, "no such command: %s", d.Cmd)
	}
	synctest.Wait()
	require.Empty(t, events.Unbalanced(s.recorder), d.Pos)
	return s.newRequests() + out.String()
}

func (s *scene) record(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	every, err := time.ParseDuration(arg(d, "every", "0s"))
	require.NoError(t, err)
	rec := s.recorder
	if by := arg(d, "by", ""); by != "" {
		rec, err = rec.For(by)
		require.NoError(t, err)
	}
	for i := range number(t, d, "times", 1) {
		time.Sleep(time.Millisecond) // no two calls, and no call and the end of a pause, are at one instant
		numbered := func(text string) string { return strings.ReplaceAll(text, "#", strconv.Itoa(i)) }
		namespace, name, _ := strings.Cut(numbered(d.CmdArgs[0].Key), "/")
		o := inNamespace(namespace, name)
		text := numbered(arg(d, "text", "away"))
		switch {
		case d.Cmd == "recover":
			rec.Failure(o, nil)
		case d.Cmd == "event":
			var related *corev1.ConfigMap
			if other := numbered(arg(d, "related", "")); other != "" {
				related = inNamespace(namespace, other)
			}
			rec.Eventf(o, related, d.CmdArgs[1].Key, numbered(d.CmdArgs[2].Key), "Run", "%s", text)
		case d.HasArg("conflict"):
			rec.Failure(o, apierrors.NewConflict(corev1.Resource("runs"), name, errors.New(text)))
		default:
			rec.FailureReason(o, numbered(d.CmdArgs[1].Key), errors.New(text))
		}
		time.Sleep(every)
	}
}

func arg(d *datadriven.TestData, name, without string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return without
}

func number(t *testing.T, d *datadriven.TestData, name string, without int) int {
	t.Helper()
	n, err := strconv.Atoi(arg(d, name, strconv.Itoa(without)))
	require.NoError(t, err, d.Pos)
	return n
}

// newRequests shows the requests since the last command.
func (s *scene) newRequests() string {
	all := s.asked()
	lines := make([]string, 0, len(all)-s.shown)
	for _, w := range all[s.shown:] {
		verb := "create"
		note := " " + w.note
		if w.verb == "patch" {
			verb = "update"
			note = ""
		}
		line := fmt.Sprintf("%s %s %s/%s %s%s", w.at.Sub(s.began).Round(10*time.Millisecond), verb, w.namespace, w.object, w.reason, note)
		if w.count > 1 {
			line += fmt.Sprintf(" x%d", w.count)
		}
		if w.group == "" {
			line += ", by core/v1"
		}
		if w.err != nil {
			line += fmt.Sprintf(": %.40s", w.err)
		}
		lines = append(lines, line+"\n")
	}
	s.shown = len(all)
	slices.SortStableFunc(lines, byInstant)
	if s.isHidden && len(lines) > 0 {
		return fmt.Sprintf("%d requests, %d Events\n", len(lines), len(s.all()))
	}
	return strings.Join(lines, "")
}

// byInstant orders lines by the instant that they begin with. Requests of one
// instant are in any order.
func byInstant(a, b string) int {
	at := func(line string) time.Duration {
		first, _, _ := strings.Cut(line, " ")
		d, _ := time.ParseDuration(first)
		return d
	}
	return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
}
