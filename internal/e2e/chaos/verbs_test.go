// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/demo/rig"
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
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{group, resource, verb})
				}
			}
		}
	}
	return all
}

const (
	agents   = "agents.controllerkit.dev"
	eventsV1 = "events.k8s.io"
)

// withouts has the rights that are removed, one at a time, and the stories of
// playAll that then fail. If nothing fails because the controller has an
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
	{"no run starts, because its stored status is unknown", []right{{agents, "agentruns", "get"}}, []string{"succeeds", "fails", "waits", "cancelled", "resumed", "expires", "lost", "let go"}, false},
	{"no status can be recorded, so no run starts", []right{{agents, "agentruns/status", "patch"}}, []string{"succeeds", "fails", "waits", "cancelled", "resumed", "expires", "lost", "let go", "refused"}, true},
	{"the API server refuses an owner reference that blocks deletion", []right{{agents, "agentruns/finalizers", "update"}}, []string{"succeeds", "fails", "waits", "cancelled", "resumed", "expires", "lost", "let go"}, false},
	{"nothing with an API server that streams the initial list of a watch", []right{{"batch", "jobs", "list"}}, nil, false},
	{"the caches are not filled: it never becomes ready", []right{{"batch", "jobs", "list"}, {"batch", "jobs", "watch"}}, []string{"everything"}, false},
	{"ends are seen late", []right{{"batch", "jobs", "watch"}}, []string{"promptly"}, false},
	{"the loss of a Job cannot be proven", []right{{"batch", "jobs", "get"}}, []string{"lost"}, false},
	{"no run starts", []right{{"batch", "jobs", "create"}}, []string{"succeeds", "fails", "waits", "cancelled", "resumed", "expires", "lost", "let go"}, true},
	{"no Job is suspended, resumed or released", []right{{"batch", "jobs", "patch"}}, []string{"cancelled", "resumed", "let go"}, false},
	{"the Job of a cancelled run continues", []right{{"batch", "jobs", "delete"}}, []string{"cancelled"}, false},
	{"runs with a Secret wait", []right{{"", "secrets", "get"}}, []string{"waits"}, true},
	{"events go to the core group", []right{{eventsV1, "events", "create"}}, nil, false},
	{"nothing: the core group is only the fallback", []right{{"", "events", "create"}}, nil, false},
	{"no Event is written", []right{{eventsV1, "events", "create"}, {"", "events", "create"}}, []string{"refused", "repeats"}, false},
	{"a series goes to the core group", []right{{eventsV1, "events", "patch"}}, nil, false},
	{"nothing: the core group is only the fallback", []right{{"", "events", "patch"}}, nil, false},
	{"repeats are not counted", []right{{eventsV1, "events", "patch"}, {"", "events", "patch"}}, []string{"repeats"}, false},
}

// TestEachVerbTakenAway removes each documented right in turn. It shows which
// stories fail, where the controller reports it, and that the other stories
// still work.
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
	var mu sync.Mutex
	rows := make([]string, len(withouts))
	t.Cleanup(func() {
		var table strings.Builder
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "without\twhat happens\tbroken\tlog\tcondition\tevent")
		for _, row := range rows {
			if row != "" {
				fmt.Fprintln(w, row)
			}
		}
		_ = w.Flush()
		t.Log("\n" + table.String())
	})
	for i, tc := range withouts {
		if !tc.short && !*full {
			continue
		}
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
			t.Parallel()
			row := takeAway(t, tc.without, tc.breaks)
			mu.Lock()
			defer mu.Unlock()
			rows[i] = fmt.Sprintf("%v\t%s\t%s\t%s", tc.without, tc.reason, strings.Join(tc.breaks, ", "), row)
		})
	}
}

// takeAway plays all stories with a role that lacks some rights. It returns
// where the controller reports it: log, condition or Event.
func takeAway(t *testing.T, without []right, breaks []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w := newWorld(t)
	w.grantBut(t, without)
	dir, kubeconfig := place(t, w.config)
	starting, tooLong := ctx, func() {}
	if slices.Contains(breaks, "everything") {
		starting, tooLong = context.WithTimeout(ctx, either(20*time.Second, 10*time.Second))
	}
	defer tooLong()
	p, err := rig.Start(starting, program, dir, kubeconfig, nil, w.args...)
	if slices.Contains(breaks, "everything") {
		require.ErrorContains(t, err, "not ready")
		log, err := os.ReadFile(filepath.Join(dir, "agentrun.log"))
		require.NoError(t, err)
		assert.True(t, names(string(log), without), "the log names the denied right")
		return "yes\t-\t-"
	}
	require.NoError(t, err)
	w.process = p
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })

	results := w.playAll(ctx, t, breaks)
	for story, works := range results {
		assert.Equal(t, !slices.Contains(breaks, story), works, "without %v: %s", without, story)
	}
	if len(breaks) == 0 { // everything works: nothing to report
		return "-\t-\t-"
	}
	var log, condition, event bool
	eventually(t, fmt.Sprintf("it is reported that %v is denied", without), func(ctx context.Context) bool {
		log, condition, event = w.reported(ctx, t, without)
		return log || condition || event
	})
	return fmt.Sprintf("%s\t%s\t%s", yes(log), yes(condition), yes(event))
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
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

// reported looks for the denied rights in logs, conditions and Events.
func (w *world) reported(ctx context.Context, t *testing.T, without []right) (log, condition, event bool) {
	t.Helper()
	body, err := os.ReadFile(w.process.Log)
	require.NoError(t, err)
	runs, err := w.Runs.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, run := range runs.Items {
		for _, c := range run.Status.Conditions {
			condition = condition || names(c.Message, without)
		}
	}
	events, err := w.Kube.EventsV1().Events(w.Namespace).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range events.Items {
		event = event || names(e.Note, without)
	}
	return names(string(body), without), condition, event
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
	_, err = w.Kube.RbacV1().RoleBindings(w.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: w.user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// specPatch is a merge patch of a run's spec.
func specPatch(t *testing.T, spec map[string]any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"spec": spec})
	require.NoError(t, err)
	return body
}
