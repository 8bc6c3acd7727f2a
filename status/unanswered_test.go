// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_AnErrorBlocksNoObject: whatever ended a write, the next Commit of
// the object as it is stored succeeds, also for a kind without updatedAt.
func TestCommit_AnErrorBlocksNoObject(t *testing.T) {
	for name, failure := range map[string]error{
		"500":      apierrors.NewInternalError(errors.New("overloaded")),
		"Throttle": errors.New("client rate limiter Wait returned an error: context deadline exceeded"),
		"429":      apierrors.NewTooManyRequestsError("slow down"),
		"NoMatch":  &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Run"}},
		"Dial":     &net.OpError{Op: "dial", Err: errors.New("refused")},
		"Reset":    errors.New("connection reset"),
	} {
		t.Run(name, func(t *testing.T) {
			s, before := start(t)
			fails := true
			w := via(patching(func(data []byte, sub ...string) (*Run, error) {
				if fails {
					return nil, failure
				}
				return client[Run]{s}.Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{}, sub...)
			}), status.Writer{FieldNames: status.FieldNames{UpdatedAt: "-"}})
			_, err := w.Commit(t.Context(), before, withPhase(before, "Running"))
			require.ErrorIs(t, err, failure)
			fails = false
			result, err := w.Commit(t.Context(), before, before.DeepCopy())
			require.NoError(t, err)
			assert.Equal(t, status.Unchanged, result)
			result, err = w.Commit(t.Context(), before, withPhase(before, "Running"))
			require.NoError(t, err)
			assert.Equal(t, status.Written, result)
		})
	}
}

// TestCommit_AsksAfterAWriteWithoutAnswer: the write was done. An idle Commit
// from the copy before it does not take that for the stored status.
func TestCommit_AsksAfterAWriteWithoutAnswer(t *testing.T) {
	s, before := start(t)
	isLost := true
	w := via(patching(func(data []byte, sub ...string) (*Run, error) {
		run, err := client[Run]{s}.Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{}, sub...)
		if isLost {
			return nil, errors.New("EOF")
		}
		return run, err
	}), status.Writer{})
	_, err := w.Commit(t.Context(), before, withPhase(before, "Running"))
	require.Error(t, err)
	isLost = false
	_, err = w.Commit(t.Context(), before, before.DeepCopy())
	require.ErrorIs(t, err, status.ErrFieldConflict)

	before = get[Run](t, s, "a")
	s.sent()
	for asks := 1; asks >= 0; asks-- {
		result, err := w.Commit(t.Context(), before, before.DeepCopy())
		require.NoError(t, err)
		assert.Equal(t, status.Unchanged, result)
		assert.Equal(t, asks, s.sent(), "once")
	}
}
