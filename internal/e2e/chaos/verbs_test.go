// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	roles "github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// right is one verb of the documented role.
type right struct{ group, resource, verb string }

func (r right) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s.%s", r.verb, r.resource, r.group), ".")
}

// documented returns the rights of the installed role.
func documented(t *testing.T) (all []right) {
	t.Helper()
	doc, _, _ := bytes.Cut(rbac.YAML(), []byte("\n---\n"))
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(doc, &role))
	for _, r := range roles.Rights(role.Rules) {
		all = append(all, right{r.Group, r.Resource, r.Verb})
	}
	return all
}

const (
	agents   = "agents.controllerkit.dev"
	eventsV1 = "events.k8s.io"
)

// jobs are the steps with a Job.
var jobs = []string{"succeeds", "fails", "secret", "cancelled", "resumed", "expires", "lost", "lets-go"}

// withouts has the rights that are removed, one at a time, and the steps that
// then fail. If nothing fails because the controller has an
// alternative, another row removes that too.
var withouts = []struct {
	reason  string
	without []right
	breaks  []string
	short   bool // in the short set too
}{
	{"nothing is denied, and everything works", nil, nil, true},
	{"nothing with an API server that streams the initial list of a watch; older ones need list", []right{{agents, "agentruns", "list"}}, nil, false},
	{"the caches are not filled: it never becomes ready", []right{{agents, "agentruns", "list"}, {agents, "agentruns", "watch"}}, []string{"everything"}, false},
	{"changes are seen late, by lists", []right{{agents, "agentruns", "watch"}}, []string{"promptly"}, false},
	{"runs stay beyond their retention", []right{{agents, "agentruns", "delete"}}, []string{"expires"}, false},
	{"no run starts, because its stored status is unknown", []right{{agents, "agentruns", "get"}}, jobs, false},
	{"no status can be recorded, so no run starts", []right{{agents, "agentruns/status", "patch"}}, append(slices.Clone(jobs), refused), true},
	{"the API server refuses an owner reference that blocks deletion", []right{{agents, "agentruns/finalizers", "update"}}, jobs, false},
	{"nothing with an API server that streams the initial list of a watch", []right{{"batch", "jobs", "list"}}, nil, false},
	{"the caches are not filled: it never becomes ready", []right{{"batch", "jobs", "list"}, {"batch", "jobs", "watch"}}, []string{"everything"}, false},
	{"ends are seen late", []right{{"batch", "jobs", "watch"}}, []string{"promptly"}, false},
	{"the loss of a Job cannot be proven", []right{{"batch", "jobs", "get"}}, []string{"lost"}, false},
	{"no run starts", []right{{"batch", "jobs", "create"}}, jobs, true},
	{"no Job is suspended, resumed or released", []right{{"batch", "jobs", "patch"}}, []string{"cancelled", "resumed", "lets-go"}, false},
	{"the Job of a cancelled run continues", []right{{"batch", "jobs", "delete"}}, []string{"cancelled"}, false},
	{"runs with a Secret wait", []right{{"", "secrets", "get"}}, []string{"secret"}, true},
	{"events go to the core group", []right{{eventsV1, "events", "create"}}, nil, false},
	{"nothing: the core group is only the fallback", []right{{"", "events", "create"}}, nil, false},
	{"no Event is written", []right{{eventsV1, "events", "create"}, {"", "events", "create"}}, []string{refused, "repeats"}, false},
	{"a series goes to the core group", []right{{eventsV1, "events", "patch"}}, nil, false},
	{"nothing: the core group is only the fallback", []right{{"", "events", "patch"}}, nil, false},
	{"repeats are not counted", []right{{eventsV1, "events", "patch"}, {"", "events", "patch"}}, []string{"repeats"}, false},
}

// TestEachVerbTakenAway removes each documented right in turn. It shows which
// steps fail, where the controller reports it, and that the other steps still
// work.
func TestEachVerbTakenAway(t *testing.T) {
	taken := map[right]bool{}
	for _, w := range withouts {
		for _, r := range w.without {
			taken[r] = true
		}
	}
	for _, r := range documented(t) {
		assert.True(t, taken[r], "%s is documented, and nothing shows what it is for", r)
	}
	for i, tc := range withouts {
		if !tc.short && !*full {
			continue
		}
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
			t.Parallel()
			where := takeAway(t, tc.without, tc.breaks)
			t.Logf("without %v: %s; %v do not happen; reported in %v", tc.without, tc.reason, tc.breaks, where)
		})
	}
}

// takeAway plays all steps with a role that lacks some rights. It returns
// where the controller reports it: log, condition or Event.
func takeAway(t *testing.T, without []right, breaks []string) (where []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w := newWorld(t)
	w.grantBut(t, without)
	starting, tooLong := ctx, func() {}
	everything := slices.Contains(breaks, "everything")
	if everything {
		starting, tooLong = context.WithTimeout(ctx, either(20*time.Second, 10*time.Second))
	}
	defer tooLong()
	p, err := plane.Run(starting, t, w.Stage, suite.Controller{User: w.config})
	if everything {
		require.ErrorContains(t, err, "not ready")
		log, err := os.ReadFile(filepath.Join(plane.Dir(), strings.ReplaceAll(t.Name(), "/", "-"), "agentrun.log"))
		require.NoError(t, err)
		assert.True(t, names(string(log), without), "the log names the denied right")
		return []string{"log"}
	}
	require.NoError(t, err)
	w.process = p
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })

	for step, works := range w.playAll(ctx, breaks) {
		assert.Equal(t, !slices.Contains(breaks, step), works, "without %v: %s", without, step)
	}
	if len(breaks) == 0 { // everything works: nothing to report
		return nil
	}
	suite.Eventually(t, fmt.Sprintf("it is reported that %v is denied", without), func(ctx context.Context) bool {
		where = w.reported(ctx, t, without)
		return len(where) > 0
	})
	return where
}

// playAll plays all steps concurrently and returns which happened. Steps that
// should fail have until the others are done, and some more time.
func (w *world) playAll(ctx context.Context, breaks []string) map[string]bool {
	broken, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var mu sync.Mutex
	var sound, unsound sync.WaitGroup
	results := map[string]bool{}
	for _, s := range steps[:either(len(steps), quick)] {
		with, group := ctx, &sound
		if slices.Contains(breaks, s.name) {
			with, group = broken, &unsound
		}
		group.Go(func() {
			works := w.happens(with, s)
			mu.Lock()
			defer mu.Unlock()
			results[s.name] = works
		})
	}
	sound.Wait()
	suite.Wait(ctx, either(8*time.Second, 2*time.Second))
	giveUp()
	unsound.Wait()
	return results
}

// happens reports whether a step happens completely before ctx ends.
func (w *world) happens(ctx context.Context, s step) bool {
	run, err := w.play(ctx, s, s.name)
	if err != nil {
		return false
	}
	for s.also != nil && !s.also(ctx, w, run) {
		if ctx.Err() != nil {
			return false
		}
		suite.Wait(ctx, 100*time.Millisecond)
	}
	seen := w.recorder.Run(run.UID)
	return s.ends == nil || slices.ContainsFunc(s.ends, func(end string) bool {
		return strings.HasPrefix(end, fmt.Sprintf("%s %s ", seen.Phase, seen.Reason))
	})
}

// names reports whether a text names a denied right, like the API server's
// errors.
func names(text string, without []right) bool {
	text = strings.ReplaceAll(text, `\`, "") // escaped quotes
	for _, r := range without {
		resource := r.resource
		if strings.Contains(text, fmt.Sprintf("cannot %s resource %q in API group %q", r.verb, resource, r.group)) ||
			strings.Contains(resource, "/finalizers") && strings.Contains(text, "cannot set blockOwnerDeletion") {
			return true
		}
	}
	return false
}

// reported returns which of logs, conditions and Events name the denied rights.
func (w *world) reported(ctx context.Context, t *testing.T, without []right) (where []string) {
	t.Helper()
	log, err := os.ReadFile(w.process.Log)
	require.NoError(t, err)
	texts := map[string]string{"log": string(log)}
	runs, err := w.Runs.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, run := range runs.Items {
		for _, c := range run.Status.Conditions {
			texts["condition"] += c.Message + "\n"
		}
	}
	events, err := w.Kube.EventsV1().Events(w.Namespace).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range events.Items {
		texts["event"] += e.Note + "\n"
	}
	for place, text := range texts {
		if names(text, without) {
			where = append(where, place)
		}
	}
	return where
}

// grantBut binds the user to the documented role without some of its rights.
func (w *world) grantBut(t *testing.T, without []right) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: w.user}}
	for _, r := range documented(t) {
		if !slices.Contains(without, r) {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}})
		}
	}
	_, err := w.Kube.RbacV1().Roles(w.Namespace).Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	w.bind(t, "rolebinding", "--role="+w.user, "--namespace="+w.Namespace)
}
