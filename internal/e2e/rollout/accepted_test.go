// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// harm is what an update does to a Rollout that the CRD, upstream's code and
// its controller all accept, and that Validate or Warnings speak of.
type harm struct {
	reason   string
	replicas int32
	canary   func(*rollout.Canary)
	state    live.Phase
	old, new int // pods of the version before, and of the tested one
}

func harms() map[string]harm {
	steps := func(s ...rollout.Step) func(*rollout.Canary) {
		return func(c *rollout.Canary) { c.Steps = s }
	}
	noSurge := func(weight int32) func(*rollout.Canary) {
		return func(c *rollout.Canary) {
			c.MaxSurge, c.MaxUnavailable = new(intstr.FromInt32(0)), new(intstr.FromInt32(1))
			c.Steps = []rollout.Step{rollout.SetWeight(weight), rollout.PauseManual()}
		}
	}
	pause := func(d intstr.IntOrString) func(*rollout.Canary) {
		return steps(rollout.SetWeight(50), rollout.Step{Pause: &rollout.Pause{Duration: &d}})
	}
	plugin, nothing := map[string]any{"name": "team/missing"}, map[string]any{"templates": []any{}}
	return map[string]harm{
		"pause-alone":   {"Nothing is tested: no weight asks for a pod.", 1, steps(rollout.PauseManual()), live.Paused, 1, 0},
		"weight-zero":   {"Nothing is tested.", 1, steps(rollout.SetWeight(0), rollout.PauseManual()), live.Paused, 1, 0},
		"one-of-one-20": {"20% of one pod without a surge is none.", 1, noSurge(20), live.Paused, 1, 0},
		"one-of-one-50": {"50% of one pod without a surge is all of them: none is stable.", 1, noSurge(50), live.Paused, 0, 1},
		"weight-100":    {"All is replaced before the pause.", 1, steps(rollout.SetWeight(100), rollout.PauseManual()), live.Paused, 0, 1},
		"pause-0":       {"A pause of no time is none.", 1, pause(intstr.FromInt32(0)), live.Healthy, 0, 1},
		"pause-500ms":   {"A pause of less than a second is cut to none.", 1, pause(intstr.FromString("500ms")), live.Healthy, 0, 1},
		"no-steps":      {"A plain rolling update.", 1, steps(), live.Healthy, 0, 1},
		"surge-negative": {"Capacity is lost, and nothing tested.", 5, func(c *rollout.Canary) {
			c.MaxSurge, c.MaxUnavailable = new(intstr.FromInt32(-1)), nil
		}, live.Paused, 4, 0},
		"pause-and-plugin": {"One of the two is done, without a pod.", 1, steps(rollout.Step{Pause: &rollout.Pause{}, Plugin: plugin}), live.Paused, 1, 0},
		"plugin-missing":   {"It hangs.", 1, steps(rollout.Step{Plugin: plugin}, rollout.SetWeight(50), rollout.PauseManual()), live.Progressing, 1, 0},
		"analysis-empty":   {"It hangs.", 1, steps(rollout.Step{Analysis: nothing}, rollout.SetWeight(50), rollout.PauseManual()), live.Progressing, 1, 0},
	}
}

// TestValidate_RefusesHarmThatUpstreamAccepts: each is a right Rollout that is
// healthy, and gets its shape with the next version.
//
//req:shows R3
func TestValidate_RefusesHarmThatUpstreamAccepts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, h := range harms() {
		s.apply(s.harmed(name, "web:1", h.replicas, func(*rollout.Canary) {}))
	}
	for name := range harms() {
		s.reaches(name, live.Healthy)
	}
	for name, h := range harms() {
		r := s.harmed(name, "web:2", h.replicas, h.canary)
		if errs := append(rollout.Validate(r), r.Warnings()...); name == "plugin-missing" {
			assert.Empty(t, errs, "only a cluster can know; live.References asks it")
		} else {
			assert.NotEmpty(t, errs, "%s: %s", name, h.reason)
		}
		s.apply(r)
	}
	s.become(harms())
	hang := maps.Clone(harms())
	maps.DeleteFunc(hang, func(_ string, h harm) bool { return h.state != live.Progressing })
	require.Len(t, hang, 2)
	s.become(hang) // still, after all others
}

// TestValidate_RefusesAnUnknownScaleDown: the controller reports no error, and
// the Deployment's pods stay next to the Rollout's.
//
//req:shows R3
func TestValidate_RefusesAnUnknownScaleDown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := web("web:1")
	d.Spec.Replicas = new(int32(1))
	s.deploy(d)
	r := converted(t, "web:1", rollout.Options{})
	r.Spec.Replicas, r.Spec.Template, r.Spec.Selector = new(int32(1)), nil, nil
	r.Spec.WorkloadRef = &rollout.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", ScaleDown: "onSuccess"} // its values are of small letters
	errs := rollout.Validate(r)
	require.Len(t, errs, 1)
	require.Equal(t, "spec.workloadRef.scaleDown", errs[0].Field)
	s.apply(r)
	s.reaches("web", live.Healthy)
	got, err := s.kube.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, *got.Spec.Replicas)
	s.runs(map[string]int{"web:1": 2})
}

// harmed is the safe canary with another name, also of its pods, and the
// change.
func (s *stage) harmed(name, image string, replicas int32, change func(*rollout.Canary)) *rollout.Rollout {
	s.Helper()
	r := converted(s.T, image, rollout.Options{})
	r.Name, r.Spec.Replicas = name, &replicas
	r.Spec.Selector.MatchLabels, r.Spec.Template.Labels = map[string]string{"app": name}, map[string]string{"app": name}
	change(r.Spec.Strategy.Canary)
	return r
}

// become waits until all of them are as the table says, with one look at all at
// a time.
func (s *stage) become(want map[string]harm) {
	s.Helper()
	s.eventually("the controller has done what it does", func(c *assert.CollectT) {
		rollouts, err := s.rollouts.List(s.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		pods, err := s.kube.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		runs := map[string]int{}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.DeletionTimestamp == nil {
				runs[pod.Labels["app"]+" "+pod.Spec.Containers[0].Image]++
			}
		}
		seen := 0
		for i := range rollouts.Items {
			name := rollouts.Items[i].GetName()
			h, ok := want[name]
			if !ok {
				continue
			}
			seen++
			state, message := live.PhaseOf(&rollouts.Items[i])
			assert.Equal(c, h.state, state, "%s: %s", name, message)
			assert.Equal(c, [2]int{h.old, h.new}, [2]int{runs[name+" web:1"], runs[name+" web:2"]}, "%s: %s", name, message)
		}
		assert.Equal(c, len(want), seen)
	})
}
