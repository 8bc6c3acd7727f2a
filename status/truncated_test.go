// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/status"
)

// The answers of an API server to a status with a field that it does not store.
func tooLarge() error { return apierrors.NewRequestEntityTooLargeError("limit is 3145728") }

func tooLargeForEtcd() error {
	return apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
}

func tooLargeForTheClientOfEtcd() error {
	return apierrors.NewInternalError(errors.New("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2100000 vs. 2097152)"))
}

func invalid(paths ...string) error {
	var list field.ErrorList
	for _, path := range paths {
		list = append(list, field.Invalid(field.NewPath(path), "x", "no secret text"))
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Run"}, "a", list)
}

func unchecked() error {
	return apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Run"}, "a", field.ErrorList{
		field.Invalid(field.NewPath("status", "phase"), "x", "must be of type object"),
		field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"),
	})
}

// refuseText refuses a status with a text of the field phase.
func refuseText(answer error) func(map[string]any) error {
	return func(status map[string]any) error {
		text, _ := status["phase"].(string)
		if strings.HasPrefix(text, "refused") {
			return answer
		}
		return nil
	}
}

func TestCommit_KeepsTheVerdictWithoutARefusedField(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		answer error
		field  string // that the condition names; empty for no second request
	}{
		"413":                  {"The request is too large for the API server.", tooLarge(), "phase"},
		"Etcd":                 {"The object is too large for the store.", tooLargeForEtcd(), "phase"},
		"ClientOfEtcd":         {"Or for its client.", tooLargeForTheClientOfEtcd(), "phase"},
		"Invalid":              {"The schema refuses a value.", invalid("status.phase"), "phase"},
		"InvalidElement":       {"Or one in a list.", invalid("status.steps[3].exit"), "steps"},
		"InvalidAndUnchecked":  {"The API server adds what it did not check.", unchecked(), "phase"},
		"InvalidTwice":         {"Or two.", invalid("status.steps[3].exit", "status.phase", "status.steps[4]"), "phase, status.steps"},
		"InvalidCondition":     {"Without a condition there is no verdict.", invalid("status.conditions[0].reason"), ""},
		"ConditionAndField":    {"One of two causes stays.", invalid("status.phase", "status.conditions[0].reason"), ""},
		"InvalidStamp":         {"The times are part of the verdict.", invalid("status.startedAt"), ""},
		"InvalidSpec":          {"It is not about the status.", invalid("spec.name"), ""},
		"InvalidWithoutAField": {"A rule of the whole object names none.", invalid(""), ""},
		"Unavailable":          {"No answer about the content.", apierrors.NewInternalError(errors.New("overloaded")), ""},
		"Forbidden":            {"Nor a refusal of the right.", apierrors.NewForbidden(schema.GroupResource{}, "a", nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.refuses = refuseText(tc.answer)
			before := get[Run](t, s, "a")
			after := before.DeepCopy()
			after.Status.Phase = "refused"
			status.SetCondition(&after.Status.Conditions, cond("Ready", "False", "Broken"), noon)
			result, err := commit(t, s, before, after, done)
			require.Error(t, err, tc.reason)
			require.ErrorIs(t, err, tc.answer, "the error has the answer")

			live := get[Run](t, s, "a")
			assert.Empty(t, live.Status.Phase)
			if tc.field == "" {
				assert.Empty(t, result)
				assert.Empty(t, live.Status.Conditions, tc.reason)
				assert.Equal(t, "refused", after.Status.Phase, "after has not changed")
				assert.Equal(t, 1, s.sent())
				return
			}
			assert.Equal(t, status.Written, result)
			assert.Equal(t, 2, s.sent(), "one more request")
			assert.Equal(t, live.Status, after.Status, "after is as stored")
			require.Len(t, live.Status.Conditions, 2)
			assert.Equal(t, "Broken", live.Status.Conditions[0].Reason)
			assert.NotNil(t, live.Status.FinishedAt, "a time of the verdict")
			assert.EqualValues(t, 1, live.Status.ObservedGeneration, "the run is done")
			truncated := live.Status.Conditions[1]
			assert.Equal(t, status.StatusTruncated, truncated.Type)
			assert.Equal(t, metav1.ConditionTrue, truncated.Status)
			assert.Contains(t, truncated.Message, "status."+tc.field, "it names the field")
			assert.NotContains(t, truncated.Message, "secret", "and no value")
			require.ErrorContains(t, err, "status."+tc.field)
		})
	}
}

func TestCommit_RepeatsAVerdictWithoutARefusedFieldOnlyIfItChanges(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.refuses = refuseText(tooLarge())
	now := noon
	w := via(client[Run]{s}.Patch, status.Writer{Heartbeat: time.Hour})
	reconcile := func(phase, reason string) (status.Result, error) {
		now = now.Add(2 * time.Hour)
		before := get[Run](t, s, "a")
		after := before.DeepCopy()
		after.Status.Phase = phase
		status.SetCondition(&after.Status.Conditions, cond("Ready", "False", reason), now)
		return w.At(now).Commit(t.Context(), before, after, running)
	}
	_, err := reconcile("refused", "Broken")
	require.Error(t, err)
	live := get[Run](t, s, "a")
	assert.Zero(t, live.Status.ObservedGeneration, "the run is not done: the spec was not reported whole")
	assert.NotNil(t, live.Status.StartedAt)
	s.sent()

	for range 3 {
		result, err := reconcile("refused again", "Broken")
		require.True(t, apierrors.IsRequestEntityTooLargeError(err), "each time")
		assert.Empty(t, result)
		assert.Equal(t, 1, s.sent(), "nothing but updatedAt would change")
	}
	assert.Equal(t, live.Status, get[Run](t, s, "a").Status)

	_, err = reconcile("refused", "Other")
	require.Error(t, err)
	assert.Equal(t, 2, s.sent(), "the verdict changed")
	assert.Equal(t, "Other", get[Run](t, s, "a").Status.Conditions[0].Reason)

	var result status.Result
	result, err = reconcile("small", "Other")
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	live = get[Run](t, s, "a")
	assert.Equal(t, "small", live.Status.Phase)
	assert.Len(t, live.Status.Conditions, 1, "the mark ends with the next whole write")
	assert.EqualValues(t, 1, live.Status.ObservedGeneration)
}

// A reconcile that no longer sets the field has nothing else to write.
func TestCommit_RemovesTheMarkIfTheFieldIsNoLongerSet(t *testing.T) {
	t.Run("Typed", removesTheMark[Run])
	t.Run("Unstructured", removesTheMark[unstructured.Unstructured])
	t.Run("OtherConditions", removesTheMark[kind[foreignStatus[workloadCondition]]])
}

func removesTheMark[T any, P interface {
	*T
	status.Object
}](t *testing.T) {
	t.Helper()
	s, _ := start(t)
	s.restatus("a", `{"observedGeneration":1,"startedAt":"2025-06-01T12:00:00Z","conditions":[
		{"type":"StatusTruncated","status":"True","reason":"TooLarge","message":"m","lastTransitionTime":"2025-06-01T12:00:00Z"}]}`)
	s.sent()
	reconcile := func(names status.FieldNames) status.Result {
		w := status.ForResource(func(string) typedClient[T, P] { return typedClient[T, P]{s} })
		w.FieldNames = names
		result, err := w.Commit(t.Context(), P(get[T](t, s, "a")), P(get[T](t, s, "a")), running)
		require.NoError(t, err)
		return result
	}
	other := status.FieldNames{ObservedGeneration: "-"}
	assert.Equal(t, status.Unchanged, reconcile(other), "it is not the mark of a second controller")
	assert.Equal(t, status.Written, reconcile(status.FieldNames{}))
	assert.Empty(t, get[Run](t, s, "a").Status.Conditions)
	assert.Equal(t, status.Unchanged, reconcile(status.FieldNames{}))
	assert.Equal(t, 1, s.sent())
}

// Two writers: the mark is part of the verdict of the one that set it.
func TestCommit_MergesAVerdictWithoutARefusedField(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.refuses = refuseText(tooLarge())
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	after.Status.Phase = "refused"
	status.SetCondition(&after.Status.Conditions, cond("Ready", "False", "Broken"), noon)
	s.restatus("a", `{"reason":"Other"}`)
	result, err := commit(t, s, before, after, running)
	require.Error(t, err)
	assert.Equal(t, status.Merged, result)
	live := get[Run](t, s, "a")
	assert.Equal(t, "Other", live.Status.Reason, "the other writer's field stays")
	assert.Len(t, live.Status.Conditions, 2)
}

// A kind without conditions has no place for a verdict.
func TestCommit_NeedsConditionsToKeepTheVerdict(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.refuses = refuseText(tooLarge())
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	after.Status.Phase = "refused"
	w := via(client[Run]{s}.Patch, status.Writer{FieldNames: status.FieldNames{Conditions: "-"}})
	result, err := w.Commit(t.Context(), before, after, running)
	require.True(t, apierrors.IsRequestEntityTooLargeError(err))
	assert.Empty(t, result)
	assert.Equal(t, 1, s.sent())
}

// The second request may fail as well.
func TestCommit_ReturnsBothErrorsOfARefusedField(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.refuses = func(status map[string]any) error {
		if status["phase"] == nil {
			return invalid("status.conditions[0].type")
		}
		return tooLarge()
	}
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	after.Status.Phase = "refused"
	result, err := commit(t, s, before, after, running)
	require.True(t, apierrors.IsRequestEntityTooLargeError(err))
	require.ErrorContains(t, err, "status.conditions[0].type")
	assert.Empty(t, result)
	assert.Equal(t, "refused", after.Status.Phase, "after has not changed")
}

// The API server refuses the size of a request before it looks at the version.
// The copy may lack a write that got no answer.
func TestCommit_MergesNoVerdictWithAWriteThatMayBeDone(t *testing.T) {
	s, stale := start(t)
	requests := 0
	w := via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*Run, error) {
		requests++
		if requests == 2 {
			return nil, tooLarge()
		}
		reply, err := client[Run]{s}.Patch(ctx, name, pt, data, o, sub...)
		if requests == 1 {
			return nil, errNoAnswer
		}
		return reply, err
	}, status.Writer{})
	_, err := w.Commit(t.Context(), stale, withPhase(stale, "Running"), status.Facts{})
	require.ErrorIs(t, err, errNoAnswer)
	result, err := w.Commit(t.Context(), stale, withPhase(stale, "Large"), status.Facts{})
	require.ErrorIs(t, err, status.ErrStaleRead)
	require.ErrorContains(t, err, "limit is 3145728")
	assert.Empty(t, result)
	assert.Equal(t, 3, requests)
	assert.Equal(t, "Running", get[Run](t, s, "a").Status.Phase)
}
