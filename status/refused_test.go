// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

func TestCommit_KeepsTheConditionsWithoutARefusedField(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		answer error
		isLess bool // a second request follows
	}{
		"413":                 {"The request is too large for the API server.", tooLarge(), true},
		"Etcd":                {"The object is too large for the store.", tooLargeForEtcd(), true},
		"ClientOfEtcd":        {"Or for its client.", tooLargeForTheClientOfEtcd(), true},
		"Invalid":             {"The schema refuses a value.", invalid("status.phase"), true},
		"InvalidElement":      {"Or one in a list.", invalid("status.steps[3].exit"), true},
		"InvalidAndUnchecked": {"The API server adds what it did not check.", unchecked(), true},
		"Unavailable":         {"No answer about the content.", apierrors.NewInternalError(errors.New("overloaded")), false},
		"Forbidden":           {"Nor a refusal of the right.", apierrors.NewForbidden(schema.GroupResource{}, "a", nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.refuses = refuseText(tc.answer)
			before := get[Run](t, s, "a")
			after := before.DeepCopy()
			after.Status.Phase = "refused"
			status.SetCondition(&after.Status.Conditions, cond("Ready", "False", "Broken"), noon)
			result, err := commit(t, s, before, after, status.Facts{Progress: status.Done, StartedAt: noon})
			require.ErrorIs(t, err, tc.answer, "the error has the answer")

			live := get[Run](t, s, "a")
			assert.Empty(t, live.Status.Phase)
			if !tc.isLess {
				assert.Empty(t, result)
				assert.Empty(t, live.Status.Conditions, tc.reason)
				assert.Equal(t, "refused", after.Status.Phase, "after has not changed")
				assert.Equal(t, 1, s.sent())
				return
			}
			assert.Equal(t, status.Written, result)
			assert.Equal(t, 2, s.sent(), "one more request")
			assert.Equal(t, live.Status, after.Status, "after is as stored")
			require.Len(t, live.Status.Conditions, 1)
			assert.Equal(t, "Broken", live.Status.Conditions[0].Reason)
			assert.EqualValues(t, 1, live.Status.ObservedGeneration)
			assert.NotNil(t, live.Status.UpdatedAt)
			assert.NotNil(t, live.Status.StartedAt, "it was never stored")
			assert.Nil(t, live.Status.FinishedAt, "controllers skip what has one")
		})
	}
}

// TestCommit_ARefusedStatusIsNotTheUsersMistake: the error names the status,
// and no Classify takes it for an error of the spec.
func TestCommit_ARefusedStatusIsNotTheUsersMistake(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.refuses = refuseText(invalid("status.phase"))
	before := get[Run](t, s, "a")
	_, err := commit(t, s, before, withPhase(before, "refused"), running)
	require.ErrorContains(t, err, "status: commit: patching a:")
	var said interface{ Reason() string }
	require.ErrorAs(t, err, &said)
	assert.Equal(t, "StatusRefused", said.Reason())
	var final interface{ Terminal() bool }
	require.ErrorAs(t, err, &final)
	assert.False(t, final.Terminal())
	assert.True(t, apierrors.IsInvalid(err), "code that asks the API server's way still knows it")
}

// TestCommit_SendsNothingAfterARefusedSecondPatch: the condition itself was
// refused, or the server is down.
func TestCommit_SendsNothingAfterARefusedSecondPatch(t *testing.T) {
	for name, answer := range map[string]error{
		"Refused": invalid("status.conditions[0].reason"),
		"Down":    apierrors.NewInternalError(errors.New("overloaded")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			first := true
			s.refuses = func(map[string]any) error {
				if first {
					first = false
					return invalid("status.phase")
				}
				return answer
			}
			before := get[Run](t, s, "a")
			after := withPhase(before, "refused")
			status.SetCondition(&after.Status.Conditions, cond("Ready", "False", "Broken"), noon)
			kept := after.DeepCopy()
			result, err := commit(t, s, before, after, done)
			require.ErrorIs(t, err, answer)
			require.ErrorContains(t, err, "status.phase", "both answers are named")
			require.ErrorContains(t, err, "status: commit: patching the conditions of a: ")
			assert.Empty(t, result)
			assert.Equal(t, kept, after)
			assert.Equal(t, 2, s.sent())
		})
	}
}

func invalidResource() schema.GroupResource {
	return schema.GroupResource{Group: "example.com", Resource: "runs"}
}
