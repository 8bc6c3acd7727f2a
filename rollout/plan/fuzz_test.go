// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// FuzzPlan: for any objects a plan is made or refused, never both, and a plan
// can be printed.
func FuzzPlan(f *testing.F) {
	d, err := json.Marshal(running())
	require.NoError(f, err)
	for _, change := range []func(*rollout.Rollout){nil, refers("onsuccess")} {
		r, err := json.Marshal(live(f, change).Object)
		require.NoError(f, err)
		f.Add(d, r, "web")
	}
	f.Add([]byte(`{"metadata":{"name":"a;reboot","namespace":"$(x)"},"spec":{"selector":{"matchLabels":{"a":"'"}}}}`), []byte(`{}`), "x")
	f.Fuzz(func(t *testing.T, deployment, rolled []byte, hpa string) {
		var (
			d appsv1.Deployment
			r rollout.Rollout
			u = map[string]any{}
		)
		if json.Unmarshal(deployment, &d) != nil || json.Unmarshal(rolled, &r) != nil || json.Unmarshal(rolled, &u) != nil {
			return
		}
		others := []unstructured.Unstructured{scaler(hpa, "Deployment", d.Name)}
		there, errs := plan.Migration(inCluster(t, &d), &r, others, plan.Options{})
		require.Equal(t, len(errs) > 0, len(there.Steps) == 0)
		back, errs := plan.Rollback(&unstructured.Unstructured{Object: u}, &d, others, plan.Options{})
		require.Equal(t, len(errs) > 0, len(back.Steps) == 0)
		for _, p := range []plan.Plan{there, back} {
			require.NotContains(t, p.String(), "echo 'rollout/plan: ")
		}
	})
}
