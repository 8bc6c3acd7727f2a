// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// maxSceneLines is how long a scene may be: one screen.
const maxSceneLines = 60

// TestScenes plays the scenes in testdata/scenes. Each shows one rule of a
// whole Commit: its requests in their order, its result, and the stored status
// afterwards. After each command the stored object keeps the contract with the
// version before it. With -rewrite the test writes the output into the scenes.
//
// The commands are:
//
//   - writer: a controller with a Writer: owned, second (it does not own
//     observedGeneration), no-times, heartbeat, once (no retries), redact,
//     shares (the memory of another one)
//   - read: the cache of a controller takes the stored object
//   - keep: the controller goes on with the object that Commit returned
//   - commit: a reconcile from that copy sets phase, message, and conditions as
//     in ready=False/Pending/text, or removes one, as in ready=none. Its patches
//     have a fault: lost (they never arrive), unanswered (they are done), dial
//     (no connection), 500 or 408
//   - restart: a controller forgets what its Writer remembers
//   - schema: prunes, defaults or refuses a field, or finds it or all of it too
//     large
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
			s := &scene{server: newServer(t), now: noon, actors: map[string]*actor{}}
			s.create("a")
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				s.out.Reset()
				s.do(t, d)
				s.check(t, d)
				return s.out.String()
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

	now    time.Time
	actors map[string]*actor
	last   *Run // before the command
	out    strings.Builder
}

// actor is a controller.
type actor struct {
	settings status.Writer
	writer   status.Writer
	cached   *Run
	after    *Run   // of the last Commit
	fault    string // of the patches of one Commit; empty for none
}

func (s *scene) do(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "writer":
		s.addWriter(t, d)
	case "read":
		s.actor(t, d).cached = get[Run](t, s.server, "a")
		s.say("version %s", s.actor(t, d).cached.ResourceVersion)
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
		s.respec("a", s.now.String())
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
		s.now = s.now.Add(took)
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

func (s *scene) addWriter(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	a := &actor{}
	var shared *actor
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "owned":
			a.settings.Owned = arg.Vals
		case "second":
			a.settings.FieldNames.ObservedGeneration = "-"
		case "heartbeat":
			every, err := time.ParseDuration(arg.Vals[0])
			require.NoError(t, err)
			a.settings.Heartbeat = every
		case "once":
			a.settings.Retries = -1
		case "no-times":
			a.settings.FieldNames.StartedAt = "-"
			a.settings.FieldNames.FinishedAt = "-"
		case "redact":
			a.settings.Redact = func(text string) string { return strings.ReplaceAll(text, "secret", "[redacted]") }
		case "shares":
			shared = s.actors[arg.Vals[0]]
		default:
			require.Fail(t, "unknown argument", arg.Key)
		}
	}
	s.connect(a)
	if shared != nil {
		a.writer = shared.writer
		a.writer.Owned = a.settings.Owned
	}
	a.cached = get[Run](t, s.server, "a")
	s.actors[d.CmdArgs[0].Key] = a
}

// errReset is what a client returns when the connection breaks.
var errReset = errors.New("connection reset")

// failures are the errors of a patch that does not arrive.
func failures() map[string]error {
	return map[string]error{
		"lost": errReset,
		"dial": &net.OpError{Op: "dial", Err: errReset},
		"500":  apierrors.NewInternalError(errors.New("overloaded")),
		"408":  apierrors.NewTimeoutError("no answer in time", 1),
		"429":  apierrors.NewTooManyRequestsError("slow down"),
	}
}

// connect makes the Writer of a, which remembers nothing.
func (s *scene) connect(a *actor) {
	patch := func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (*Run, error) {
		isFaulty := a.fault != "" && string(data) != "{}"
		err, isKnown := failures()[a.fault]
		if isFaulty && isKnown {
			return nil, err
		}
		out, err := client[Run]{s.server}.Patch(ctx, name, pt, data, opts, sub...)
		if isFaulty {
			return nil, errReset
		}
		return out, err
	}
	a.writer = via(patch, a.settings)
}

func (s *scene) commit(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	a := s.actor(t, d)
	before := a.cached.DeepCopy()
	after := a.cached.DeepCopy()
	facts := status.Facts{}
	a.fault = ""
	for _, arg := range d.CmdArgs[1:] {
		value := strings.Join(arg.Vals, ",")
		switch arg.Key {
		case "phase":
			after.Status.Phase = value
		case "message":
			after.Status.Message = value
		case "running":
			facts.Progress = status.Running
		case "done":
			facts.Progress = status.Done
		case "lost", "unanswered", "dial", "500", "408", "429":
			a.fault = arg.Key
		case "start-over":
			before.Status.ObservedGeneration = 0
			after.Status.ObservedGeneration = 0
		default:
			set(&after.Status.Conditions, arg.Key, value, s.now)
		}
	}
	s.sent()
	result, err := a.writer.At(s.now).Commit(t.Context(), before, after, facts)
	for _, request := range s.requests {
		s.say("%s", brief(strings.TrimPrefix(request, "status ")))
	}
	if err != nil {
		s.say("error: %v", err)
	}
	if result != "" {
		a.after = after
		s.say("= %s, version %s", result, after.ResourceVersion)
	}
}

// set sets or removes a condition.
func set(conds *[]metav1.Condition, typ, value string, now time.Time) {
	parts := strings.SplitN(value, "/", 3)
	if parts[0] == "none" {
		*conds = slices.DeleteFunc(*conds, func(c metav1.Condition) bool { return c.Type == typ })
		return
	}
	c := cond(typ, metav1.ConditionStatus(parts[0]), parts[1])
	if len(parts) == 3 {
		c.Message = parts[2]
	}
	status.SetCondition(conds, c, now)
}

// brief is a request as a scene shows it.
func brief(patch string) string {
	if patch == "{}" {
		return "read"
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
