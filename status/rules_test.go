// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// The API server's own verdict on the rules is a test of internal/e2e.
func TestRules(t *testing.T) {
	rules := status.Rules(status.FieldNames{})
	require.Len(t, rules, 4)
	assert.Equal(t, status.Rule{Rule: "!has(oldSelf.status) || has(self.status)", Message: "status may not be dropped"}, rules[0])
	for i, field := range []string{"observedGeneration", "startedAt", "finishedAt"} {
		assert.Contains(t, rules[i+1].Rule, "oldSelf.status."+field)
		assert.Contains(t, rules[i+1].Message, "status."+field)
	}

	own := status.Rules(status.FieldNames{ObservedGeneration: "-", StartedAt: "startTime", FinishedAt: "finished-at__x/while"})
	require.Len(t, own, 3)
	assert.Contains(t, own[1].Rule, "int(self.status.startTime) == int(oldSelf.status.startTime)")
	assert.Contains(t, own[2].Rule, "oldSelf.status.finished__dash__at__underscores__x__slash__while", "escaped as CEL wants it")
	assert.Contains(t, status.Rules(status.FieldNames{StartedAt: "in"})[2].Rule, "status.__in__")
	assert.Len(t, status.Rules(status.FieldNames{ObservedGeneration: "-", StartedAt: "-", FinishedAt: "-"}), 1)
}

func TestRules_EqualTheMarkersToCopy(t *testing.T) {
	source, err := os.ReadFile("rules.go")
	require.NoError(t, err)
	var documented, want []string
	for line := range strings.Lines(string(source)) {
		if _, marker, ok := strings.Cut(line, "+kubebuilder:validation:XValidation:"); ok {
			documented = append(documented, strings.TrimSpace(marker))
		}
	}
	for _, r := range status.Rules(status.FieldNames{}) {
		want = append(want, fmt.Sprintf("rule=%q,message=%q", r.Rule, r.Message))
	}
	assert.Equal(t, want, documented)
}
