// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// TestTheSchemaOfTheExample: the API server refuses names with which no pod of
// a run could start, and names the field.
func TestTheSchemaOfTheExample(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	for name, set := range map[string]func(*v1alpha1.AgentRunSpec){
		"secretRef.name": func(spec *v1alpha1.AgentRunSpec) {
			spec.SecretRef = &v1alpha1.SecretRef{Name: "default/agent-key", Key: "token"}
		},
		"secretRef.key": func(spec *v1alpha1.AgentRunSpec) {
			spec.SecretRef = &v1alpha1.SecretRef{Name: "agent-key", Key: "..data"}
		},
		"serviceAccountName": func(spec *v1alpha1.AgentRunSpec) { spec.ServiceAccountName = "Not A Name" },
		"image":              func(spec *v1alpha1.AgentRunSpec) { spec.Image += "\n" },
	} {
		run := play.NewRun("wrong")
		set(&run.Spec)
		_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.Contains(t, err.Error(), "spec."+name)
	}
}
