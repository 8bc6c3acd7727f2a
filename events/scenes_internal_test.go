// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
)

// maxSceneLines is how long a scene may be: one screen.
const maxSceneLines = 60

// TestScenes plays the scenes in testdata/scenes. Each shows one rule of a
// book: the calls that record, and the requests that follow. After each command
// the accounts of the book balance and the caps hold. With -rewrite the test
// writes the output into the scenes.
//
// The commands are:
//
//   - book: a new one, with objects=, series=, writes= (a minute), total= (a
//     second), retry=, groups=events or core
//   - fail: an object fails, with a reason, text=, maybe terminal, conflict,
//     gen=, times=, every=, by= (the controller), related=,
//     annotations= (each has 1024 bytes)
//   - event: a Normal or Warning about an object, with a reason, text=, times=
//   - refuse, cancel: an occurrence that cannot be recorded, or is suppressed
//   - many: fail for the objects of a namespace with numbers from= to to=
//   - recover, forget: as the methods of a Recorder
//   - server: its answer to a namespace, an API group or all, maybe times=, or
//     how long it asks to be left alone, with asks=
//   - at: time passes until then. Each request has its answer immediately, or
//     after the time that "server takes=" says
//   - hold: requests stay under way; answer: gives the first one its answer,
//     and the next ones theirs, unless with hold
//   - flush, unflush, close: as the book's methods; written: whether a stop is
//     done that has its deadline in=
//   - log: the lines since the last log; claim: what Start or Flush returns
//   - count: requests are counted and not shown; counted: how many there were;
//     show: they are shown again
//   - stats: the accounts of the book
func TestScenes(t *testing.T) {
	files, err := filepath.Glob("testdata/scenes/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			s := &scene{world: newWorld(sceneBounds())}
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				s.out.Reset()
				s.do(t, d)
				s.run(s.now, s.show)
				require.Empty(t, s.check(), d.Pos)
				return s.out.String()
			})
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, bytes.HasPrefix(text, []byte("# ")), "begin with a comment that states the rule")
			assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), maxSceneLines, "make two scenes of it")
		})
	}
}

// A scene is a world and what it shows.
type scene struct {
	*world

	out      strings.Builder
	isHidden bool
	requests int
}

// replies are the answers by the names that scenes give them.
var replies = map[string]response{
	"ok": {reply: written}, "taken": {reply: nameTaken}, "expired": {reply: eventGone}, "422": {reply: rejected},
	"gone": {reply: namespaceGone}, "403": {reply: groupDenied}, "absent": {reply: groupAbsent},
	"500": {reply: namespaceFails}, "silence": {reply: namespaceFails, silent: true}, "503": {reply: serverFails},
	"stop": {reply: interrupted},
}

func (s *scene) do(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "book":
		s.world = newWorld(s.boundsOf(t, d))
	case "fail":
		s.fail(t, d, d.CmdArgs[0].Key)
	case "many":
		for i := number(t, d, "from", 0); i < number(t, d, "to", 0); i++ {
			s.fail(t, d, fmt.Sprintf("%s/run-%d", d.CmdArgs[0].Key, i))
		}
	case "event":
		s.repeat(t, d, d.CmdArgs[0].Key, occurrence{identity: identity{eventtype: d.CmdArgs[1].Key, reason: d.CmdArgs[2].Key}})
	case "recover":
		namespace, name, _ := strings.Cut(d.CmdArgs[0].Key, "/")
		o := occurrence{identity: identity{controller: text(d, "by", "runs"), eventtype: "Normal", reason: Recovered, action: reconcile}, kind: recovery}
		o.key = key{kind: "Run", namespace: namespace, name: name}
		s.now++
		s.recovered(s.now, &o)
	case "forget":
		namespace, name, _ := strings.Cut(d.CmdArgs[0].Key, "/")
		s.forget(s.now, key{kind: "Run", namespace: namespace, name: name})
	case "at":
		until, err := time.ParseDuration(d.CmdArgs[0].Key)
		require.NoError(t, err)
		s.run(instant(1).add(until), s.show)
	case "flush":
		s.flush(s.now)
	case "unflush":
		s.unflush(s.now)
	case "close":
		s.close()
	case "refuse":
		s.discard(d.CmdArgs[0].Key, "it says why")
	case "cancel":
		s.suppressed()
	default:
		s.doServer(t, d)
	}
}

func (s *scene) doServer(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "server":
		s.serve(t, d)
	case "hold":
		s.isHeld = true
	case "answer":
		s.isHeld = len(s.held) > 1 || d.HasArg("hold")
		require.NotEmpty(t, s.held, d.Pos)
		req := s.held[0]
		s.held = s.held[1:]
		s.end(req, replies[d.CmdArgs[0].Key], s.show)
	case "count":
		s.isHidden = true
		s.requests = 0
	case "show":
		s.isHidden = false
	case "counted":
		fmt.Fprintf(&s.out, "%d requests, %d Events, %d objects, %d namespaces\n", s.requests, len(s.stored), len(s.objects), len(s.namespaces))
		s.requests = 0
	default:
		s.ask(t, d)
	}
}

// ask shows what the book says.
func (s *scene) ask(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "stats":
		s.showStats()
	case "written":
		in, err := time.ParseDuration(text(d, "in", "0s"))
		require.NoError(t, err)
		fmt.Fprintln(&s.out, s.isWritten(s.now.add(in)))
	case "log":
		fmt.Fprintln(&s.out, strings.Join(s.logged, "\n"))
		s.logged = nil
	case "claim":
		fmt.Fprintln(&s.out, s.losses.claim())
	default:
		d.Fatalf(t, "no such command: %s", d.Cmd)
	}
}

func text(d *datadriven.TestData, name, without string) string {
	for _, arg := range d.CmdArgs {
		if arg.Key == name && len(arg.Vals) > 0 {
			return arg.Vals[0]
		}
	}
	return without
}

func number(t *testing.T, d *datadriven.TestData, name string, without int) int {
	t.Helper()
	n, err := strconv.Atoi(text(d, name, strconv.Itoa(without)))
	require.NoError(t, err, d.Pos)
	return n
}

func (s *scene) boundsOf(t *testing.T, d *datadriven.TestData) bounds {
	t.Helper()
	b := sceneBounds()
	b.objects = number(t, d, "objects", b.objects)
	b.series = number(t, d, "series", b.series)
	writes := number(t, d, "writes", 5)
	b.perObject = perMinute(writes)
	b.pause = time.Minute / time.Duration(writes)
	b.total = perSecond(float64(number(t, d, "total", 20)), 5)
	switch text(d, "groups", "") {
	case "events":
		b.groups = onlyEvents
	case "core":
		b.groups = onlyCore
	}
	return b
}

func (s *scene) fail(t *testing.T, d *datadriven.TestData, object string) {
	t.Helper()
	o := occurrence{identity: identity{eventtype: corev1.EventTypeWarning, reason: d.CmdArgs[1].Key, action: reconcile}, kind: failure}
	o.terminal = d.HasArg("terminal")
	if d.HasArg("conflict") {
		o.kind = conflict
	}
	s.repeat(t, d, object, o)
}

func (s *scene) repeat(t *testing.T, d *datadriven.TestData, object string, o occurrence) {
	t.Helper()
	namespace, name, _ := strings.Cut(object, "/")
	o.controller = text(d, "by", "")
	o.text = text(d, "text", "away")
	o.generation = int64(number(t, d, "gen", 0))
	o.about.related.Name = text(d, "related", "")
	for i := range number(t, d, "annotations", 0) {
		if o.annotations == nil {
			o.annotations = map[string]string{}
		}
		o.annotations[strconv.Itoa(i)] = strings.Repeat("x", 1024)
	}
	every, err := time.ParseDuration(text(d, "every", "0s"))
	require.NoError(t, err)
	for i := range number(t, d, "times", 1) {
		again := o
		again.text = strings.ReplaceAll(o.text, "#", strconv.Itoa(i))
		s.occur(again, namespace, name)
		if every > 0 {
			s.run(s.now.add(every), s.show)
		}
	}
}

func (s *scene) serve(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if d.HasArg("takes") {
		took, err := time.ParseDuration(text(d, "takes", ""))
		require.NoError(t, err)
		s.took = took
		return
	}
	if d.HasArg("asks") {
		asks, err := time.ParseDuration(text(d, "asks", ""))
		require.NoError(t, err)
		s.asks = asks
		return
	}
	who := strings.ReplaceAll(d.CmdArgs[0].Key, ":", " ")
	s.answers[who] = replies[d.CmdArgs[1].Key]
	delete(s.few, who)
	if d.HasArg("times") {
		s.few[who] = number(t, d, "times", 1)
	}
}

// show writes down a request and its answer.
func (s *scene) show(req *write, got response) {
	s.requests++
	if s.isHidden {
		return
	}
	verb := "create"
	note := ""
	if req.draft == nil {
		verb = "update"
	} else {
		note = " " + req.draft.text
	}
	if req.draft != nil && len(req.draft.annotations) > 0 {
		note += fmt.Sprintf(" (%d annotations, %d bytes)", len(req.draft.annotations), sizeOf(req.draft.annotations))
	}
	if req.core {
		verb = "core " + verb
	}
	count := ""
	if req.count > 1 {
		count = fmt.Sprint(" x", req.count)
	}
	if req.count > 1 && req.draft != nil {
		count += " since " + shown(req.since)
	}
	said := ""
	if got.reply != written {
		said = " → " + nameOf(got)
	}
	if got == isUnderWay {
		said = " ..."
	}
	ref := req.object.ref
	fmt.Fprintf(&s.out, "%s %s %s/%s %s%s%s%s\n", shown(s.now), verb, ref.Namespace, ref.Name, req.series.reason, note, count, said)
}

func shown(t instant) string { return t.since(1).Round(time.Millisecond).String() }

func sizeOf(annotations map[string]string) (n int) {
	for _, value := range annotations {
		n += len(value)
	}
	return n
}

func nameOf(got response) string {
	for name, r := range replies {
		if r == got {
			return name
		}
	}
	return "?"
}

func (s *scene) showStats() {
	st := s.stats
	fmt.Fprintf(&s.out, "recorded %d = written %d + coalesced %d + suppressed %d + pending %d", st.Recorded, st.Written, st.Coalesced, st.Suppressed, st.Pending)
	for _, cause := range []string{LostQueueFull, LostExpired, LostRejected, LostForbidden, LostNamespaceGone, LostShutdown} {
		if l := s.losses[cause]; l != nil {
			fmt.Fprintf(&s.out, " + %s %d", cause, l.total)
		}
	}
	fmt.Fprintf(&s.out, "\nunread %d, retried %d, evicted %d\n", st.Unread, st.Retried, st.Evicted)
}
