// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestPlan_NeverSaysToDeleteTheOnlyPods: the Deployment of a workloadRef has
// none, or it was created again from its manifest.
func TestPlan_NeverSaysToDeleteTheOnlyPods(t *testing.T) {
	for name, n := range map[string]int32{"None": 0, "Fewer": 3} {
		for _, method := range []plan.Method{plan.SideBySide, plan.Reference} {
			t.Run(name+string(method), func(t *testing.T) {
				t.Parallel()
				w := rolledOut(t, live(t, nil), false)
				d := running()
				d.Spec.Replicas, d.Status = &n, appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
				obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
				require.NoError(t, err)
				w.Objects["deployment/web"] = obj
				release(w.Objects["rollout/web"], "web:2")
				p, errs := plan.Migration(d, converted(t), nil, plan.Options{Method: method})
				require.Empty(t, errs)
				out, err := newCluster(t, w).try(p.String())
				require.Error(t, err)
				assert.Contains(t, out, "STOP: ")
				assert.NotContains(t, out, "delete rollout")
				assert.Equal(t, n > 0, strings.Contains(p.Header, "up to step"))
			})
		}
	}
}
