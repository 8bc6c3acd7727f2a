// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// mutate changes a status in a random way.
func mutate(r *rand.Rand, s *RunStatus, now time.Time) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for range 1 + r.IntN(3) {
		switch r.IntN(8) {
		case 0:
			s.Phase = pick("", "Pending", "Running", "Failed")
		case 1:
			s.Reason, s.Message = pick("", "Lost", "<&>\u2028"), pick("", `a "quoted" \ text`, "é")
		case 2:
			s.JobRef = nil
		case 3:
			s.JobRef = &JobRef{Name: pick("", "a", "b"), UID: pick("", "1")}
		case 4:
			s.Runtime = map[string]string{pick("a", "b", "x y"): pick("", "1"), pick("c", "a"): "2"}
		case 5:
			s.Steps = append(s.Steps, Step{Name: pick("a", "b"), StartedAt: ptr.To(metav1.NewTime(now))})
		case 6:
			status.SetCondition(&s.Conditions, metav1.Condition{
				Type: pick("Ready", "Stalled", "example.com/Odd"), Status: metav1.ConditionStatus(pick("True", "False")),
				Reason: pick("Ok", "not ok", ""), Message: pick("", "m"), ObservedGeneration: r.Int64N(3),
			}, now)
		case 7:
			if n := len(s.Conditions); n > 0 {
				i := r.IntN(n)
				s.Conditions = append(s.Conditions[:i], s.Conditions[i+1:]...)
			}
		}
	}
}

//req:shows S5
func TestPatch_IsTheSameTypedAndUnstructured(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 0))
		before := bigRun()
		for range 3 {
			mutate(r, &before.Status, noon)
		}
		for i := range before.Status.Conditions { // an unstructured one without it would get none
			c := &before.Status.Conditions[i]
			c.ObservedGeneration = max(c.ObservedGeneration, 1)
		}
		after := before.DeepCopy()
		mutate(r, &after.Status, noon.Add(time.Minute))
		f := status.Facts{Progress: status.Progress(r.IntN(3))}
		looseBefore, looseAfter := asUnstructured(t, before), asUnstructured(t, after)

		want, err := status.FieldNames{}.Patch(before, after, f, noon.Add(time.Hour))
		require.NoError(t, err)
		got, err := status.FieldNames{}.Patch(looseBefore, looseAfter, f, noon.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, want == nil, got == nil, "seed %d", seed)
		if want != nil {
			require.JSONEq(t, string(want), string(got), "seed %d", seed)
		}

		back := &Run{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(looseAfter.Object, back))
		assert.JSONEq(t, encode(t, after.Status), encode(t, back.Status), "and after is the same, seed %d", seed)
	}
}

//req:shows S6
func TestPatch_MakesBeforeIntoAfter(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newServer(t)
		s.create("a")
		for i := range 6 {
			before := get[Run](t, s, "a")
			after := before.DeepCopy()
			now := noon.Add(time.Duration(i) * time.Minute)
			mutate(r, &after.Status, now)
			patch, err := status.FieldNames{}.Patch(before, after, status.Facts{Progress: status.Progress(r.IntN(3))}, now)
			require.NoError(t, err)
			if patch != nil {
				_, err = s.patch(t.Context(), "a", patch, true)
				require.NoError(t, err)
			}
			stored := get[Run](t, s, "a")
			require.JSONEq(t, encode(t, after.Status), encode(t, stored.Status), "seed %d, patch %s", seed, patch)
			require.Empty(t, statustest.Check(before.Status.Stamp, stored.Status.Stamp, stored.Generation))
		}
	}
}

// Every way in which a CRD may already have the contract's fields.
func TestFieldNames_StatusShapes(t *testing.T) {
	type times struct {
		UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
	}
	type Embedded struct {
		StartTime metav1.Time `json:"startTime,omitzero"`
	}
	type shape struct {
		times              `json:",inline"`
		*Embedded          `json:",inline"`
		ObservedGeneration *int64      `json:"observedGeneration,omitempty"`
		CompletionTime     metav1.Time `json:"completionTime,omitzero"`
		Count              int         `json:"count,string,omitempty"`
		Hidden             string      `json:"-"`
		Untagged           string
		Verdicts           conditions `json:"verdicts,omitempty"`
	}
	names := status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime", Conditions: "verdicts"}

	before := kindOf(shape{})
	after := kindOf(shape{Embedded: &Embedded{}, Count: 3, Hidden: "x", Untagged: "y", Verdicts: conditions{cond("Ready", "True", "Ok")}})
	patch, err := names.Patch(before, after, status.Facts{Progress: status.Done, StartedAt: noon.Add(-time.Minute)}, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{
		"observedGeneration":1, "updatedAt":"2025-06-01T12:00:00Z", "startTime":"2025-06-01T11:59:00Z", "completionTime":"2025-06-01T12:00:00Z",
		"count":"3", "Untagged":"y",
		"verdicts":[{"type":"Ready","status":"True","reason":"Ok","message":"","observedGeneration":1,"lastTransitionTime":"2025-06-01T12:00:00Z"}]}}`,
		string(patch))
	stamp, err := statustest.Stamp(names, after)
	require.NoError(t, err)
	assert.JSONEq(t, encode(t, status.Stamp{ObservedGeneration: 1, UpdatedAt: at(0), StartedAt: at(-time.Minute), FinishedAt: at(0)}), encode(t, stamp))

	again := kindOf(after.Status)
	again.Status.Embedded = ptr.To(*after.Status.Embedded)
	patch, err = names.Patch(after, again, done, noon.Add(time.Hour))
	require.NoError(t, err)
	assert.Nil(t, patch)
}

type conditions []metav1.Condition

type Extra struct {
	Note string `json:"note,omitempty"`
}

// Named is embedded under a name, which makes it a field.
type Named struct{ C string }

// sometimes is a status with every way to leave a field out.
type sometimes struct {
	*Extra
	Named              `json:"named"`
	Untagged           struct{ B string }
	ObservedGeneration *int64             `json:"observedGeneration,omitempty"`
	UpdatedAt          *metav1.Time       `json:"updatedAt,omitempty"`
	StartedAt          *metav1.Time       `json:"startedAt,omitempty"`
	Paused             bool               `json:"paused,omitempty"`
	Retry              *int               `json:"retry,omitempty"`
	Detail             struct{ A string } `json:"detail,omitempty"` //nolint:modernize // is never empty, as in JSON
	Until              metav1.Time        `json:"until,omitzero"`
	Share              float64            `json:"share,omitzero"`
	Nothing            any                `json:"nothing"`
}

func (k *kind[S]) copyTo() *kind[S] { return ptr.To(*k) }

func TestPatch_FieldsThatAreLeftOut(t *testing.T) {
	names := status.FieldNames{FinishedAt: "-"}
	before := kindOf(sometimes{ObservedGeneration: ptr.To(int64(1)), UpdatedAt: at(0), StartedAt: at(0)})
	after := before.copyTo()
	after.Status.StartedAt, after.Status.ObservedGeneration = nil, nil
	patch, err := names.Patch(before, after, running, noon)
	require.NoError(t, err)
	require.Nil(t, patch)
	require.JSONEq(t, encode(t, before.Status), encode(t, after.Status), "what the contract keeps is put back")
	assert.NotSame(t, before.Status.ObservedGeneration, after.Status.ObservedGeneration, "as a copy")

	after.Status.Extra = &Extra{"n"}
	after.Status.Paused, after.Status.Retry, after.Status.Until, after.Status.Share, after.Status.Nothing = true, ptr.To(0), *at(0), 0.5, "x"
	after.Status.Detail.A, after.Status.Untagged.B, after.Status.C = "a", "b", "c"
	patch, err = names.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"note":"n","paused":true,"retry":0,"detail":{"A":"a"},"Untagged":{"B":"b"},"named":{"C":"c"},
		"until":"2025-06-01T12:00:00Z","share":0.5,"nothing":"x","updatedAt":"2025-06-01T12:00:00Z"}}`, string(patch))

	patch, err = names.Patch(after, before.copyTo(), running, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"note":null,"paused":null,"retry":null,"detail":{"A":""},"Untagged":{"B":""},"named":{"C":""},
		"until":null,"share":null,"nothing":null,"updatedAt":"2025-06-01T12:00:00Z"}}`, string(patch))
}

func TestFieldNames_KindsWithoutSomeFields(t *testing.T) {
	type agent struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		UpdatedAt          *metav1.Time       `json:"updatedAt,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	}
	before, after := kindOf(agent{}), kindOf(agent{})
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err, "a kind that does not run needs no startedAt")
	assert.Contains(t, string(patch), "observedGeneration")

	type bare struct {
		Phase string `json:"phase,omitempty"`
	}
	none := status.FieldNames{ObservedGeneration: "-", UpdatedAt: "-", StartedAt: "-", FinishedAt: "-", Conditions: "-"}
	patch, err = none.Patch(kindOf(bare{}), kindOf(bare{}), running, noon)
	require.NoError(t, err)
	assert.Nil(t, patch, "a field that the kind does not have is never a change")
	patch, err = none.Patch(kindOf(bare{}), kindOf(bare{"Running"}), running, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"phase":"Running"}}`, string(patch))

	list := status.FieldNames{Conditions: "-"}
	patch, err = list.Patch(loose(nil), loose(map[string]any{"conditions": []any{"anything"}}), status.Facts{}, noon)
	require.NoError(t, err, "a list of another kind is a field like any other")
	assert.Contains(t, string(patch), `"conditions":["anything"]`)
	patch, err = list.Patch(loose(nil), loose(map[string]any{"-": "anything"}), status.Facts{}, noon)
	require.NoError(t, err, "a field may even have the name that means none")
	assert.Contains(t, string(patch), `"-":"anything"`)
}

// Which names a kind without any of the times has to give.
func TestFieldNames_GenerationAndConditionsOnly(t *testing.T) {
	type plain struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	}
	done := status.Facts{Progress: status.Done}
	cases := map[string]struct {
		reason string
		names  status.FieldNames
		facts  status.Facts
		says   string
	}{
		"All":               {"It has no times.", status.FieldNames{UpdatedAt: "-", StartedAt: "-", FinishedAt: "-"}, done, ""},
		"UpdatedAtAlone":    {"Nothing says that it runs.", status.FieldNames{UpdatedAt: "-"}, status.Facts{}, ""},
		"None":              {"A typed status without updatedAt has no time of the last write.", status.FieldNames{}, status.Facts{}, ""},
		"RunsWithoutStart":  {"It has no start.", status.FieldNames{UpdatedAt: "-", FinishedAt: "-"}, running, "status.startedAt"},
		"DoneWithoutFinish": {"It has no finish.", status.FieldNames{UpdatedAt: "-", StartedAt: "-"}, done, "status.finishedAt"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := kindOf(plain{Conditions: []metav1.Condition{cond("Ready", "True", "Ok")}})
			patch, err := tc.names.Patch(kindOf(plain{}), after, tc.facts, noon)
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says, tc.reason)
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Contains(t, string(patch), `"observedGeneration":`)
			assert.Contains(t, string(patch), `"type":"Ready"`)
			assert.NotContains(t, string(patch), "At\"", "no time is written")
		})
	}
}

// Which of two fields of one name counts is encoding/json's rule.
func TestPatch_ShadowedFields(t *testing.T) {
	type deep struct {
		Phase  string `json:"phase,omitempty"`
		Twice  string
		Tagged string
	}
	type other struct {
		Twice string
		Named string `json:"Tagged"`
	}
	type shape struct {
		status.Stamp `json:",inline"`
		deep
		other
		Phase string `json:"phase,omitempty"`
	}
	before := kindOf(shape{})
	after := kindOf(shape{deep: deep{Phase: "deep", Twice: "a", Tagged: "a"}, other: other{Twice: "b", Named: "b"}, Phase: "shallow"})
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.Contains(t, string(patch), `"phase":"shallow"`)
	assert.Contains(t, string(patch), `"Tagged":"b"`)
	assert.NotContains(t, string(patch), "Twice")
	assert.NotContains(t, encode(t, after.Status), "Twice", "as in JSON")
}
