// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/status"
)

// Report has fields whose values have many JSON forms.
type Report struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Status            ReportStatus `json:"status,omitzero"`
}

type ReportStatus struct {
	*status.Stamp `json:",inline"`

	Active     int32                 `json:"active"`
	Nodes      []string              `json:"nodes"`
	Totals     Totals                `json:"totals"`
	Mode       string                `json:"mode,omitempty"`
	Text       string                `json:"text,omitempty"`
	Extra      *runtime.RawExtension `json:"extra,omitempty"`
	Conditions []metav1.Condition    `json:"conditions,omitempty"`
}

type Totals struct {
	Failed int64 `json:"failed"`
}

func (r *Report) DeepCopyObject() runtime.Object { return r.DeepCopy() }

func (r *Report) DeepCopy() *Report {
	out := new(Report)
	raw, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func TestCommit_LaterUpdateConflictsWhenTheSpecMoved(t *testing.T) {
	s, before := start(t)
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	s.respec("a", "edited by a user")
	result, err := commit(t, s, before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "an Update of the old spec must conflict")
	assert.Empty(t, after.Spec.Image)
	assert.Equal(t, get[Run](t, s, "a").Status, after.Status, "the status is the stored one")

	again := after.DeepCopy()
	again.Status.Message = "a second commit of the same reconcile"
	_, err = commit(t, s, after, again, running)
	require.ErrorIs(t, err, status.ErrStaleRead, "the reconcile of the new spec decides")
}

func TestCommit_AfterIsWhollyTheStoredObject(t *testing.T) {
	s, before := start(t)
	after := before.DeepCopy()
	after.Status.Phase, after.Labels = "Running", map[string]string{"local": "change"}
	s.relabel("a", "owner", "user")
	_, err := commit(t, s, before, after, running)
	require.ErrorContains(t, err, "metadata.labels of a differ")
	stored := get[Run](t, s, "a")
	assert.Equal(t, stored.ObjectMeta, after.ObjectMeta, "a later Update keeps the user's label")
	assert.Equal(t, stored.Status, after.Status)
}

func conditionList(u *unstructured.Unstructured) []any {
	return u.Object["status"].(map[string]any)["conditions"].([]any)
}

type uncomparable struct {
	*Run
	list []string
}

func TestPatch_RefusesValuesThatCannotBeCompared(t *testing.T) {
	o := uncomparable{bigRun(), []string{"a"}}
	_, err := status.FieldNames{}.Patch(o, o, running, noon)
	require.ErrorContains(t, err, "uncomparable")
}

func TestPatch_AllocatesANilStampEmbeddedByPointer(t *testing.T) {
	before := &Report{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Generation: 2}}
	after := before.DeepCopy()
	patch, err := status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.Contains(t, string(patch), `"observedGeneration":2`)
	require.NotNil(t, after.Status.Stamp)
	assert.True(t, at(0).Equal(after.Status.StartedAt))
	assert.Nil(t, before.Status.Stamp)
}

func TestCommit_RedactsConditionMessages(t *testing.T) {
	s := newServer(t)
	s.create("a")
	w := status.Writer{Redact: func(m string) string { return strings.ReplaceAll(m, "hunter2", "[redacted]") }}
	for i, want := range []status.Result{status.Written, status.Unchanged} {
		before := get[Run](t, s, "a")
		after := before.DeepCopy()
		after.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Failed", Message: "password hunter2 refused"}}
		result, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, want, result, "commit %d", i)
		assert.Equal(t, "password [redacted] refused", after.Status.Conditions[0].Message)
	}
	assert.NotContains(t, strings.Join(s.requests, ""), "hunter2")
}
