// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status/statustest"
)

// maxSceneLines is how long a scene may be: one screen.
const maxSceneLines = 60

// TestScenes plays the scenes in testdata/scenes. Each shows one rule of a
// whole Commit: its requests in their order, its result, and the stored status
// afterwards. After each command the stored object keeps the contract with the
// version before it. With -rewrite the test writes the output into the scenes.
//
// Read these ten first: first-write, times, new-spec, superseded, stale-copy,
// field-conflict, second-controller, unanswered, pruned, refused.
//
// The commands are:
//
//   - writer: a controller with a Writer: owned, second (it does not own
//     observedGeneration), no-times, heartbeat, once (no retries), redact,
//     shares (the memory of another Writer), loose (unstructured objects)
//   - read: the cache of a controller takes the stored object
//   - keep: the controller goes on with the object that Commit returned
//   - commit: a reconcile from that copy sets phase, message, and conditions as
//     in ready=False/Pending/text, or removes one, as in ready=none, or merges
//     the JSON below it. Its patches have a fault: lost (they never arrive),
//     unanswered (they are done), dial (no connection), 500 or 408; with later,
//     only those after the first one
//   - restart: a controller forgets what its Writer remembers
//   - schema: prunes, defaults, requires or refuses a field, or finds it or all
//     of it too large; prunes a field of conditions, or defaults the phase of
//     steps
//   - status, spec, label, delete, create: what others do
//   - wait: time passes
//   - show: the stored status
func TestScenes(t *testing.T) {
	files, err := filepath.Glob("testdata/scenes/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			later(t, 0, func(t *testing.T) {
				t.Helper()
				s := &scene{server: newServer(t), actors: map[string]*actor{}}
				s.create("a")
				datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
					t.Helper()
					s.out.Reset()
					s.do(t, d)
					s.check(t, d)
					return s.out.String()
				})
			})
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, bytes.HasPrefix(text, []byte("# ")), "begin with a comment that states the rule")
			assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), maxSceneLines, "make two scenes of it")
		})
	}
}

// scene is what a scene has made.
type scene struct {
	*server

	actors map[string]*actor
	last   *Run // before the command
	out    strings.Builder
}

func (s *scene) do(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "writer":
		s.addWriter(t, d)
	case "read":
		s.readFor(t, s.actor(t, d))
		s.say("version %s", s.actor(t, d).cached.GetResourceVersion())
	case "keep":
		s.actor(t, d).cached = s.actor(t, d).after
	case "commit":
		s.commit(t, d)
	case "restart":
		s.connect(s.actor(t, d))
	case "schema":
		s.schema(t, d)
	case "status":
		s.restatus("a", strings.TrimSpace(d.Input))
		s.show(t)
	case "spec":
		s.respec("a", time.Now().String())
		s.show(t)
	case "label":
		s.relabel("a", "edited", "x")
		s.show(t)
	case "delete":
		s.delete("a")
	case "create":
		s.create("a")
		s.show(t)
	case "wait":
		took, err := time.ParseDuration(d.CmdArgs[0].Key)
		require.NoError(t, err)
		time.Sleep(took)
	case "show":
		s.show(t)
	default:
		require.Fail(t, "unknown command", d.Cmd)
	}
}

func (s *scene) say(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// actor is the controller that the first argument names.
func (s *scene) actor(t *testing.T, d *datadriven.TestData) *actor {
	t.Helper()
	require.NotEmpty(t, d.CmdArgs, "name a controller")
	a := s.actors[d.CmdArgs[0].Key]
	require.NotNil(t, a, "no writer %s", d.CmdArgs[0].Key)
	return a
}

// brief is a request as a scene shows it.
func brief(patch string) string {
	if patch == "{}" {
		return "read"
	}
	if !strings.Contains(patch, `"status"`) {
		return "ask whether " + strings.Trim(strings.TrimPrefix(patch, `{"metadata":{"resourceVersion":"`), `"}`) + " is stored"
	}
	patch = strings.Replace(patch, `{"metadata":{"resourceVersion":"`, "patch version ", 1)
	patch = strings.Replace(patch, `"},"status":`, ": ", 1)
	return strings.TrimSuffix(patch, "}")
}

func (s *scene) schema(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "prunes":
			s.prunes = arg.Vals
		case "defaults":
			s.defaults = map[string]any{arg.Vals[0]: arg.Vals[1]}
		case "requires":
			s.requires = arg.Vals
		case "prunes-of-conditions":
			s.stored = eachOf("conditions", func(c map[string]any) { delete(c, arg.Vals[0]) })
		case "defaults-of-steps":
			s.stored = eachOf("steps", func(step map[string]any) { step["phase"] = cmp.Or(step["phase"], any(arg.Vals[0])) })
		case "refuses":
			s.refuses = refuseText(invalid(arg.Vals...))
		case "large":
			s.refuses = refuseText(tooLarge())
			if len(arg.Vals) > 0 {
				s.refuses = func(map[string]any) error { return tooLarge() }
			}
		default:
			require.Fail(t, "unknown argument", arg.Key)
		}
	}
}

// eachOf returns a hook that changes each element of a list of the status.
func eachOf(list string, change func(map[string]any)) func(o map[string]any) {
	return func(o map[string]any) {
		items, _, _ := unstructured.NestedFieldNoCopy(o, "status", list)
		elements, _ := items.([]any)
		for _, element := range elements {
			change(element.(map[string]any))
		}
	}
}

func (s *scene) show(t *testing.T) {
	t.Helper()
	run := get[Run](t, s.server, "a")
	s.say("version %s, generation %d: %s", run.ResourceVersion, run.Generation, encode(t, run.Status))
}

// check holds the stored object to the contract.
func (s *scene) check(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if s.objects["a"] == nil {
		s.last = nil
		return
	}
	run := get[Run](t, s.server, "a")
	isSame := s.last != nil && s.last.UID == run.UID
	isOurs := d.Cmd == "commit" && !d.HasArg("start-over")
	if isSame && isOurs && run.ResourceVersion != s.last.ResourceVersion {
		assert.Empty(t, statustest.Check(s.last.Status.Stamp, run.Status.Stamp, run.Generation), d.Pos)
	}
	s.last = run
}
