// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// isNotReleased: neither Rollback nor the wait of a plan takes the template of
// the Rollout for released.
func (s *stage) isNotReleased(image string) {
	s.Helper()
	to := web(image)
	to.Namespace = s.namespace
	_, errs := plan.Rollback(s.get("web"), to, nil, plan.Options{})
	require.Len(s, errs, 1)
	assert.Equal(s, "live.status", errs[0].Field)
	out, err := s.try(plane.Kubeconfig(), strings.Replace(s.untilHealthy(), " 600 ", " 3 ", 1))
	require.Error(s, err, out)
}

// untilHealthy is how a plan waits for the Rollout web.
func (s *stage) untilHealthy() string {
	s.Helper()
	from := web("web:1")
	from.Namespace = s.namespace
	to := converted(s.T, "web:1", rollout.Options{})
	to.Namespace = s.namespace
	p, errs := plan.Migration(from, to, nil, plan.Options{})
	require.Empty(s, errs)
	p.Steps = slices.DeleteFunc(p.Steps, func(step plan.Step) bool {
		return step.Verb != "wait" || !strings.HasPrefix(step.Object, "rollout")
	})
	return p.String()
}

// refuse has the API server refuse ReplicaSets with the image in the namespace,
// until the function that it returns is called.
func (s *stage) refuse(image string) (allow func()) {
	s.Helper()
	policy, err := os.ReadFile(filepath.Join("testdata", "policy.yaml"))
	require.NoError(s, err)
	text := strings.NewReplacer("NAMESPACE", s.namespace, "IMAGE", image).Replace(string(policy))
	on := func(verb string) { s.sh("kubectl " + verb + " -f - <<'EOF'\n" + text + "\nEOF") }
	on("apply")
	asked := web(image).Spec.Template
	file := s.file(map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": map[string]any{"name": "asked"},
		"spec": map[string]any{"replicas": 0, "selector": map[string]any{"matchLabels": asked.Labels}, "template": asked},
	})
	// The API server reads policies once a second, so that each change is late.
	isRefused := func(c *assert.CollectT, want bool) {
		out, err := s.try(plane.Kubeconfig(), "kubectl -n "+s.namespace+" create --dry-run=server -f "+file)
		require.Equal(c, want, err != nil && strings.Contains(out, "no such image"), out)
	}
	s.eventually("the API server has the policy", func(c *assert.CollectT) { isRefused(c, true) })
	return func() {
		s.Helper()
		on("delete")
		s.eventually("the API server has no policy", func(c *assert.CollectT) { isRefused(c, false) })
	}
}
