// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestMigration_KnowsWhatTheServerFillsIn: a manifest with a bit of everything
// that a server has defaults for, applied by kubectl and read back, is the same
// template to a plan; with another value anywhere it is not.
//
//req:shows R5
func TestMigration_KnowsWhatTheServerFillsIn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "rollout", "plan", "testdata", "manifest.json"))
	require.NoError(t, err)
	var manifest appsv1.Deployment
	require.NoError(t, json.Unmarshal(data, &manifest))
	r, errs := rollout.Convert(&manifest, rollout.Options{})
	require.Empty(t, errs)
	r.Namespace = s.namespace

	s.sh("kubectl -n " + s.namespace + " apply -f " + s.file(manifest))
	live, err := s.kube.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEqual(t, manifest.Spec.Template, live.Spec.Template, "it fills in nothing")
	assert.Empty(t, warnings(t, live, r))

	live.Spec.Template.Spec.Containers[0].ReadinessProbe.TimeoutSeconds = 2
	changed := warnings(t, live, r)
	require.Len(t, changed, 1)
	assert.Contains(t, changed[0], "spec.template.spec.containers[web].readinessProbe.timeoutSeconds (dropped)")
}

// warnings are those about the template, of a plan of a Deployment that the
// controller has settled.
func warnings(t *testing.T, live *appsv1.Deployment, r *rollout.Rollout) []string {
	t.Helper()
	live.Status = appsv1.DeploymentStatus{ObservedGeneration: live.Generation}
	p, errs := plan.Migration(live, r, nil, plan.Options{Method: plan.SideBySide})
	require.Empty(t, errs)
	var others []string
	for _, w := range p.Warnings {
		if strings.Contains(w, "It differs at ") {
			others = append(others, w)
		}
	}
	return others
}
