// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

// Common has the fields of several kinds.
type Common struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func TestPatch_KeepsConditionsThatAreEmbeddedByAPointer(t *testing.T) {
	type shape struct {
		status.Stamp `json:",inline"`
		*Common      `json:",inline"`
	}
	stored := []metav1.Condition{cond("Ready", "False", "Starting")}
	before := kindOf(shape{Common: &Common{Conditions: stored}})
	after := kindOf(shape{Common: &Common{Conditions: []metav1.Condition{cond("Ready", "True", "Ok")}}})
	patch, err := status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.Contains(t, string(patch), `"status":"True"`)
	assert.Equal(t, stored, before.Status.Conditions, "before is only read")
	assert.Len(t, after.Status.Conditions, 1)
}

// quiet has conditions that it does not encode.
type quiet struct {
	status.Stamp

	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (q quiet) MarshalJSON() ([]byte, error) { return json.Marshal(q.Stamp) }

func TestPatch_WritesWhatAStatusEncodesItselfAs(t *testing.T) {
	before := kindOf(quiet{})
	after := kindOf(quiet{Conditions: []metav1.Condition{cond("Ready", "True", "Ok")}})
	patch, err := status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.NotContains(t, string(patch), "conditions")
}
