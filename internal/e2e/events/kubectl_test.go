// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// refusal is an error that a retry cannot fix.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }
func (refusal) Reason() string  { return events.InvalidSpec }
func (refusal) Terminal() bool  { return true }

// A story is what happens to an object. Each step is written before the next
// begins, in another second: core/v1 knows no finer time.
type story []func(r *events.Recorder, o runtime.Object)

// The stories that kubectl tells.
var (
	failed    = func(r *events.Recorder, o runtime.Object) { r.Failure(o, errAway) }
	refused   = func(r *events.Recorder, o runtime.Object) { r.Failure(o, refusal{"spec.image: Required value"}) }
	recovered = func(r *events.Recorder, o runtime.Object) { r.Failure(o, nil) }
	leaked    = func(r *events.Recorder, o runtime.Object) {
		r.Failure(o, fmt.Errorf("dial postgres://app:%s@db:5432/runs: connection refused", "hunter2"))
	}
	again = func(r *events.Recorder, o runtime.Object) { failed(r, o); failed(r, o) }
)

// TestWhatKubectlShows: E7. kubectl shows a failure, a repeated failure, a
// recovery, and several failures, through either API group.
//
//req:shows E7
func TestWhatKubectlShows(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		story  story
		ways   []way // one for each step; nil plays the story through each group, which must look alike
		golden string
	}{
		"First":     {reason: "One line, with the cause, and without the password.", story: story{leaked}, golden: "first.txt"},
		"Series":    {reason: "One line for all repeats, with their number.", story: story{failed, again, again}, golden: "series.txt"},
		"Recovered": {reason: "Failure and end, in this order.", story: story{failed, again, recovered}, golden: "recovered.txt"},
		"Life": {
			reason: "kubectl describe sorts Events of events.k8s.io by their first occurrence, kubectl events by their last.",
			story:  story{failed, refused, again, recovered}, ways: []way{bothGroups}, golden: "life-events.txt",
		},
		"LifeCore": {
			reason: "Both sort Events of core/v1 by their last occurrence.",
			story:  story{failed, refused, again, recovered}, ways: []way{coreOnly}, golden: "life-core.txt",
		},
		"Mixed": {
			reason: "Where the group changed, kubectl describe has Events of events.k8s.io first; kubectl events has all in order.",
			story:  story{failed, refused, recovered}, ways: []way{coreOnly, bothGroups}, golden: "mixed.txt",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.ways != nil {
				assertGolden(t, tc.golden, tc.story.play(t, tc.ways), tc.reason)
				return
			}
			assertGolden(t, tc.golden, tc.story.play(t, []way{bothGroups}), tc.reason)
			if !*update {
				assertGolden(t, tc.golden, tc.story.play(t, []way{coreOnly}), tc.reason)
			}
		})
	}
}

// TestDescribeOfAClusterScopedObject: kubectl finds its Events, wherever they
// are kept.
//
//req:shows E7
func TestDescribeOfAClusterScopedObject(t *testing.T) {
	t.Parallel()
	s := newStage(t, plane)
	for _, namespace := range []string{"default", "kube-system"} {
		for name, w := range map[string]way{"events": bothGroups, "core": coreOnly} {
			class, err := s.kube.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{
				ObjectMeta: metav1.ObjectMeta{GenerateName: s.namespace + "-"},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			r := record(t, plane.Config(), w, events.Options{Namespace: namespace})
			r.Failure(class, errAway)
			r.Failure(class, errAway)
			r.flushed(t)
			var kept []string
			for _, ev := range s.storedIn(t, namespace) {
				if ev.InvolvedObject.UID == class.UID {
					kept = append(kept, fmt.Sprint(ev.InvolvedObject.Kind, " ", reported(ev)))
				}
			}
			assert.Equal(t, []string{"PriorityClass 2"}, kept, "%s in %s", name, namespace)
			assert.Contains(t, s.kubectl(t, "describe", "priorityclass/"+class.Name), errAway.Error(), "%s in %s", name, namespace)
		}
	}
}

// play plays the story about a new object and returns what kubectl shows of it.
func (st story) play(t *testing.T, ways []way) string {
	t.Helper()
	s := newStage(t, plane)
	o := s.object(t, "run-1")
	var recorders []*recorder
	for _, w := range ways {
		recorders = append(recorders, record(t, plane.Config(), w, events.Options{WritesPerMinute: 60}))
	}
	for i, step := range st {
		r := recorders[i%len(recorders)]
		nextSecond(t.Context())
		step(r.Recorder, o)
		r.flushed(t)
	}
	var out strings.Builder
	for _, args := range [][]string{{"describe", "configmap/run-1"}, {"events", "--for=configmap/run-1"}} {
		fmt.Fprintln(&out, "$ kubectl", strings.Join(args, " "))
		text := s.kubectl(t, args...)
		if i := strings.Index(text, "Events:"); i > 0 {
			text = text[i:]
		}
		out.WriteString(normal(text))
	}
	return out.String()
}

// nextSecond returns in the second after this one.
func nextSecond(ctx context.Context) {
	now := time.Now()
	suite.Wait(ctx, now.Truncate(time.Second).Add(time.Second+10*time.Millisecond).Sub(now))
}

var (
	age    = regexp.MustCompile(`\b\d+[smh](\d+[smh])?\b`)
	spaces = regexp.MustCompile(` {2,}`)
)

// normal is text without what depends on the moment: ages, and the widths of
// the columns that hold them.
func normal(text string) string {
	return strings.ReplaceAll(spaces.ReplaceAllString(age.ReplaceAllString(text, "AGE"), "  "), " \n", "\n")
}

// kubectl runs kubectl in the namespace and returns what it prints.
func (s *stage) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	kubectl := rig.Kubectl{Path: s.cp.Kubectl(), Kubeconfig: s.cp.Kubeconfig(), Cache: filepath.Join(s.cp.Dir(), "kubectl-cache")}
	out, err := kubectl.Run(t.Context(), nil, append([]string{"--namespace=" + s.namespace}, args...)...)
	require.NoError(t, err)
	return out
}

func assertGolden(t *testing.T, name, got, reason string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, reason)
}
