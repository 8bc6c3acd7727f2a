// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/rules"
)

// The rules in an API server are a test of internal/e2e.
func TestFor_NamesTheFieldsOfTheKind(t *testing.T) {
	all := rules.For(status.FieldNames{})
	require.Len(t, all, 4)
	assert.Equal(t, rules.Rule{Rule: "!has(oldSelf.status) || has(self.status)", Message: "status may not be dropped"}, all[0])
	for i, field := range []string{"observedGeneration", "startedAt", "finishedAt"} {
		assert.Contains(t, all[i+1].Rule, "oldSelf.status."+field)
		assert.Contains(t, all[i+1].Message, "status."+field)
	}

	own := rules.For(status.FieldNames{ObservedGeneration: "-", StartedAt: "startTime", FinishedAt: "finished-at__x/while"})
	require.Len(t, own, 3)
	assert.Contains(t, own[1].Rule, "int(self.status.startTime) == int(oldSelf.status.startTime)")
	assert.Contains(t, own[2].Rule, "oldSelf.status.finished__dash__at__underscores__x__slash__while", "escaped as CEL wants it")
	assert.Contains(t, rules.For(status.FieldNames{StartedAt: "in"})[2].Rule, "status.__in__")
	assert.Len(t, rules.For(status.FieldNames{ObservedGeneration: "-", StartedAt: "-", FinishedAt: "-"}), 1)
}

func TestFor_EqualsTheMarkersToCopy(t *testing.T) {
	source, err := os.ReadFile("rules.go")
	require.NoError(t, err)
	var documented, want []string
	for line := range strings.Lines(string(source)) {
		if _, marker, ok := strings.Cut(line, "+kubebuilder:validation:XValidation:"); ok {
			documented = append(documented, strings.TrimSpace(marker))
		}
	}
	for _, r := range rules.For(status.FieldNames{}) {
		want = append(want, fmt.Sprintf("rule=%q,message=%q", r.Rule, r.Message))
	}
	assert.Equal(t, want, documented)
}
