// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

type modeStatus struct {
	status.Stamp `json:",inline"`

	Phase      string             `json:"phase,omitempty"`
	Mode       string             `json:"mode,omitempty"`
	Limits     *limits            `json:"limits,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type limits struct {
	CPU    int64 `json:"cpu,omitempty"`
	Memory int64 `json:"memory,omitempty"`
}

// TestCommit_ADefaultOfTheFirstStatusIsNotAConflict: another writer makes the
// first status between the read and the write, and the schema fills in what
// this controller sets.
func TestCommit_ADefaultOfTheFirstStatusIsNotAConflict(t *testing.T) {
	s := newStage(t)
	s.object(t, modes, "a")
	before, after := readKind[modeStatus](t, s, modes), readKind[modeStatus](t, s, modes)
	after.Status.Mode = "Manual"
	after.Status.Limits = &limits{Memory: 64}
	after.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Pending"}}
	require.NoError(t, merge(`{"status":{"other":"x"}}`)(t, s.theirs.dynamic(modes), names{}))

	w := via(typed[kind[modeStatus]](s.ours.dynamic(modes)), status.Writer{})
	result, err := w.Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Merged, result)
	stored := s.readLoose(t, modes).Object["status"].(object)
	assert.Equal(t, "Manual", stored["mode"])
	assert.Equal(t, object{"cpu": int64(1), "memory": int64(64)}, stored["limits"])
	assert.Equal(t, "x", stored["other"])
	assert.Equal(t, "Pending", stored["conditions"].([]any)[0].(object)["reason"])

	// A status of another replica is not a default.
	late := before.DeepCopyObject().(*kind[modeStatus])
	late.Status.Mode = "Late"
	_, err = via(typed[kind[modeStatus]](s.ours.dynamic(modes)), status.Writer{}).Commit(t.Context(), before, late, running)
	require.ErrorIs(t, err, status.ErrFieldConflict)
}
