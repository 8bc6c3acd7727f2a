// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// actor is a controller.
type actor struct {
	settings  status.Writer
	writer    status.Writer
	isLoose   bool
	cached    status.Object
	after     status.Object // of the last Commit
	fault     string        // of the patches of one Commit; empty for none
	faultless int           // how many of them do not have it
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
		case "no-times":
			a.settings.FieldNames.StartedAt = "-"
			a.settings.FieldNames.FinishedAt = "-"
		case "redact":
			a.settings.Redact = func(text string) string { return strings.ReplaceAll(text, "secret", "[redacted]") }
		case "loose":
			a.isLoose = true
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
	s.readFor(t, a)
	s.actors[d.CmdArgs[0].Key] = a
}

func (s *scene) readFor(t *testing.T, a *actor) {
	t.Helper()
	a.cached = get[Run](t, s.server, "a")
	if a.isLoose {
		a.cached = get[unstructured.Unstructured](t, s.server, "a")
	}
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
	a.writer = via(faulty[Run](s, a), a.settings)
	if a.isLoose {
		a.writer = via(faulty[unstructured.Unstructured](s, a), a.settings)
	}
}

// faulty is a client whose patches have the fault of the actor.
func faulty[T any](s *scene, a *actor) patchFunc[*T] {
	return func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (*T, error) {
		isFaulty := a.fault != "" && string(data) != "{}"
		if isFaulty && a.faultless > 0 {
			a.faultless--
			isFaulty = false
		}
		err, isKnown := failures()[a.fault]
		if isFaulty && isKnown {
			return nil, err
		}
		out, err := client[T]{s.server}.Patch(ctx, name, pt, data, opts, sub...)
		if isFaulty {
			return nil, errReset
		}
		return out, err
	}
}

func (s *scene) commit(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	a := s.actor(t, d)
	before := a.cached.DeepCopyObject().(status.Object)
	after := a.cached.DeepCopyObject().(status.Object)
	facts := status.Facts{}
	a.fault = ""
	a.faultless = 0
	edit(t, after, d.Input)
	run, isRun := after.(*Run)
	if !isRun {
		run = &Run{}
	}
	for _, arg := range d.CmdArgs[1:] {
		value := strings.Join(arg.Vals, ",")
		switch arg.Key {
		case "phase":
			run.Status.Phase = value
		case "message":
			run.Status.Message = value
		case "running":
			facts.Progress = status.Running
		case "done":
			facts.Progress = status.Done
		case "lost", "unanswered", "dial", "500", "408", "429":
			a.fault = arg.Key
		case "later":
			a.faultless = 1
		case "start-over":
			before.(*Run).Status.ObservedGeneration = 0
			run.Status.ObservedGeneration = 0
		default:
			set(&run.Status.Conditions, arg.Key, value, time.Now())
		}
	}
	s.sent()
	result, err := a.writer.Commit(t.Context(), before, after, facts)
	for _, request := range s.requests {
		s.say("%s", brief(strings.TrimPrefix(request, "status ")))
	}
	if err != nil {
		s.say("error: %v", err)
	}
	if result != "" {
		a.after = after
		s.say("= %s, version %s", result, after.GetResourceVersion())
	}
}

// edit applies a merge patch to the status of o.
func edit(t *testing.T, o status.Object, patch string) {
	t.Helper()
	if patch == "" {
		return
	}
	var fields any
	require.NoError(t, json.Unmarshal([]byte(patch), &fields))
	var was any
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &was))
	raw, err = json.Marshal(mergePatch(was, map[string]any{"status": fields}))
	require.NoError(t, err)
	loose, isLoose := o.(*unstructured.Unstructured)
	if isLoose {
		require.NoError(t, loose.UnmarshalJSON(raw))
		return
	}
	run := o.(*Run)
	*run = Run{}
	require.NoError(t, json.Unmarshal(raw, run))
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
