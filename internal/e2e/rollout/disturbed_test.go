// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/rollout/live"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// autoscale has an autoscaler for the Deployment. Without metrics it keeps its
// bounds.
func (s *stage) autoscale() {
	s.Helper()
	_, err := s.kube.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).Create(s.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    10,
		},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
}

// atLeast has the autoscaler scale its target up to n pods, and returns once it
// has.
func (s *stage) atLeast(n string) {
	s.Helper()
	hpas := s.kube.AutoscalingV2().HorizontalPodAutoscalers(s.namespace)
	h, err := hpas.Patch(s.Context(), "web", types.MergePatchType, []byte(`{"spec":{"minReplicas":`+n+`}}`), metav1.PatchOptions{})
	require.NoError(s, err)
	target := strings.ToLower(h.Spec.ScaleTargetRef.Kind) + "/web"
	s.eventually(target+" is scaled", func(c *assert.CollectT) {
		require.Equal(c, n, s.sh("kubectl -n "+s.namespace+" get "+target+" -o jsonpath={.spec.replicas}"))
	})
}

// released is the first of the workloads that exists and has a template.
func (s *stage) released(workloads ...string) string {
	s.Helper()
	for _, w := range workloads {
		if s.image(w) != "" {
			return w
		}
	}
	require.Fail(s, "none of the workloads exists", "%v", workloads)
	return ""
}

func (s *stage) image(workload string) string {
	s.Helper()
	return s.sh("kubectl -n " + s.namespace + " get " + workload + " --ignore-not-found -o 'jsonpath={.spec.template.spec.containers[0].image}'")
}

// after is the number of the step with this verb.
func after(t *testing.T, p plan.Plan, verb string, kind string) int {
	t.Helper()
	for i, s := range p.Steps {
		if s.Verb == verb && strings.HasPrefix(s.Object, kind) {
			return i + 1
		}
	}
	require.Fail(t, "no such step", "%v", verb)
	return 0
}

// TestPlan_Disturbed: between two steps an autoscaler scales, a release comes,
// or another field manager applies the old manifest. The plan, run again from
// its start, reaches its end or stops before it acts. There are never fewer
// ready endpoints than replicas, and no image goes back.
//
//req:shows R5
func TestPlan_Disturbed(t *testing.T) {
	t.Parallel()
	type row struct {
		name   string
		reason string
		verb   string // the disturbance comes after the first step of this verb
		kind   string // and kind
		stops  bool
	}
	rows := []row{
		{"ScaledAfter", "The autoscaler has scaled the new workload.", "patch", "hpa", false},
		{"Released", "The image would go back.", "apply", "", true},
		{"Applied", "It is in the cluster already.", "patch", "hpa", false},
		{"ScaledBefore", "The new workload would be too small.", "apply", "", true},
	}
	for _, back := range []bool{false, true} {
		for _, tc := range rows {
			direction := map[bool]string{false: "There", true: "Back"}[back]
			t.Run(direction+tc.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				d := web("web:1")
				s.deploy(d)
				s.autoscale()
				p := s.migration()
				source, target := "deployment/web", "rollout/web"
				var manifest any = d
				if back {
					s.follow(p.String())
					u := s.reaches("web", live.Healthy)
					p = s.rollback(d)
					source, target = target, source
					manifest = onlyManifest(u)
				}
				c := s.measure(5)
				s.follow(part(p, after(t, p, tc.verb, tc.kind)))

				pods := 5
				changed := ""
				switch tc.name {
				case "ScaledBefore", "ScaledAfter":
					s.atLeast("7")
					pods = 7
				case "Released":
					changed = s.released(source, target)
					s.sh("kubectl -n " + s.namespace + ` patch ` + changed + ` --type=json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:2"}]'`)
				case "Applied":
					s.sh("kubectl -n " + s.namespace + " apply --server-side --field-manager=gitops -f " + s.file(manifest))
				}

				out, err := s.try(s.planner, p.String())
				assert.NotContains(t, out, "force")
				if tc.stops {
					require.Error(t, err, tc.reason)
					assert.Contains(t, out, "STOP: ", tc.reason)
				} else {
					require.NoError(t, err, "%s\n%s", tc.reason, out)
					s.runs(map[string]int{"web:1": pods})
				}
				if changed != "" {
					assert.Equal(t, "web:2", s.image(changed), "the release was undone")
				}
				least, _ := s.extremes(c)
				assert.GreaterOrEqual(t, least, 5)
			})
		}
	}
}

// onlyManifest is what a repository has of an object.
func onlyManifest(u *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": map[string]any{"name": u.GetName()}, "spec": u.Object["spec"],
	}
}
