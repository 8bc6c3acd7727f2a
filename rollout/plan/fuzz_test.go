// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// FuzzPlan: for any objects a plan is made or refused, never both, and only
// valid names get into a shell.
func FuzzPlan(f *testing.F) {
	d, err := json.Marshal(running())
	require.NoError(f, err)
	for _, m := range []string{"SideBySide", "Adopt", "Reference", ""} {
		for _, change := range []func(*rollout.Rollout){nil, refers("onsuccess"), refers("never")} {
			r, err := json.Marshal(live(f, change).Object)
			require.NoError(f, err)
			f.Add(d, r, "web", m)
		}
	}
	f.Add([]byte(`{"metadata":{"name":"a;reboot","namespace":"$(x)"},"spec":{"selector":{"matchLabels":{"a":"'"}}}}`), []byte(`{}`), "x", "Adopt")
	f.Fuzz(func(t *testing.T, deployment, rolled []byte, hpa, m string) {
		var (
			d appsv1.Deployment
			r rollout.Rollout
			u = map[string]any{}
		)
		if json.Unmarshal(deployment, &d) != nil || json.Unmarshal(rolled, &r) != nil || json.Unmarshal(rolled, &u) != nil {
			return
		}
		hpas := []autoscalingv2.HorizontalPodAutoscaler{scaler(hpa, "Deployment", d.Name)}
		there, errs := plan.Migration(&d, &r, hpas, plan.Options{Method: plan.Method(m)})
		require.Equal(t, len(errs) > 0, len(there.Actions) == 0)
		back, errs := plan.Rollback(&unstructured.Unstructured{Object: u}, &d, hpas, plan.Options{Method: plan.Method(m)})
		require.Equal(t, len(errs) > 0, len(back.Actions) == 0)
		for _, p := range []plan.Plan{there, back} {
			if strings.ContainsAny(d.Name+d.Namespace+r.Name, ";$`'\" \n") {
				assert.Empty(t, p.Actions)
			}
		}
	})
}

// A selector may hold quotes' worth of operators; a shell sees one word.
func TestPlan_SelectorIsOneWord(t *testing.T) {
	d, r := running(), converted(t)
	several := []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"api", "web"}}}
	d.Spec.Selector.MatchExpressions, r.Spec.Selector.MatchExpressions = several, several
	p, errs := plan.Migration(d, r, nil, plan.Options{Method: plan.Adopt})
	require.Empty(t, errs)
	command := p.Actions[index(p, "label replicaset")].Command
	sh := exec.CommandContext(t.Context(), "sh", "-c", "kubectl() { for a; do echo \"$a\" >&2; done; }; "+command)
	out, err := sh.CombinedOutput()
	require.NoError(t, err)
	assert.Contains(t, string(out), "\napp=web,app in (api,web),!rollouts-pod-template-hash\n")
}
