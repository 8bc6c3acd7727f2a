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

// The steps of the stories.
var (
	failed    = func(r *events.Recorder, o runtime.Object) { r.Failure(o, errAway) }
	refused   = func(r *events.Recorder, o runtime.Object) { r.Failure(o, refusal{"spec.image: Required value"}) }
	recovered = func(r *events.Recorder, o runtime.Object) { r.Failure(o, nil) }
	again     = func(r *events.Recorder, o runtime.Object) { failed(r, o); failed(r, o) }
)

// TestWhatKubectlShows: one line for all repeats of a failure, with their
// number, the cause, and without the password. Failures and their end are in
// order, through either API group.
//
//req:shows E7
func TestWhatKubectlShows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		ways   []way // one for each step
		story  story
	}{
		"Life": {
			"kubectl describe sorts Events of events.k8s.io by their first occurrence, kubectl events by their last.",
			[]way{bothGroups},
			story{failed, refused, again, recovered},
		},
		"LifeCore": {
			"Both sort Events of core/v1 by their last occurrence.",
			[]way{coreOnly},
			story{failed, refused, again, recovered},
		},
		"Mixed": {
			"Where the group changed, kubectl describe has Events of events.k8s.io first; kubectl events has all in order.",
			[]way{coreOnly, bothGroups},
			story{failed, refused, recovered},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, path := tc.story.play(t, tc.ways), filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, tc.reason)
		})
	}
}

// TestDescribeOfAClusterScopedObject: kubectl finds its Events by either group.
//
//req:shows E7
func TestDescribeOfAClusterScopedObject(t *testing.T) {
	t.Parallel()
	s := newStage(t, plane)
	for name, w := range map[string]way{"BothGroups": bothGroups, "CoreOnly": coreOnly} {
		class, err := s.kube.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{GenerateName: s.namespace + "-"},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		r := record(t, plane.Config(), w, events.Options{})
		failed(r.Recorder, class)
		failed(r.Recorder, class)
		r.flushed(t)
		assert.Regexp(t, `\(x2 over .*connection refused`, s.kubectl(t, "describe", "priorityclass/"+class.Name), name)
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
