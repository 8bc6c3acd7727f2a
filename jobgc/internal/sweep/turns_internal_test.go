// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestTurns_AreFair(t *testing.T) {
	var turns Turns
	due := func(uids string) []*metav1.ObjectMeta {
		var out []*metav1.ObjectMeta
		for _, uid := range uids {
			out = append(out, &metav1.ObjectMeta{UID: types.UID(uid)})
		}
		return out
	}
	for _, tc := range []struct {
		reason, due string
		limit       int
		want        string
	}{
		{"In their order.", "abcde", 2, "ab"},
		{"Objects without a turn come first.", "abcde", 2, "cd"},
		{"Then whose turn is the longest ago.", "abcde", 2, "ea"},
		{"A new one does not wait.", "abcdef", 2, "fb"},
		{"All of them.", "abcdef", 9, "cdaebf"},
		{"Of equals the order counts.", "fedcba", 3, "fed"},
		{"None.", "", 3, ""},
		{"Who was not due is forgotten.", "cde", 1, "c"},
	} {
		var got string
		of := due(tc.due)
		for _, o := range next(&turns, of, tc.limit) {
			got += string(o.UID)
		}
		assert.Equal(t, tc.want, got, tc.reason)
		assert.Equal(t, due(tc.due), of, "due is not changed")
		assert.LessOrEqual(t, len(turns.last), len(tc.due), "no more is remembered")
	}
}

// calling is an object whose methods run code of the caller.
type calling struct{ call func() }

func (c calling) GetUID() types.UID {
	c.call()
	return "a"
}

func TestTurns_CallsNoObjectUnderItsLock(t *testing.T) {
	var turns Turns
	calls := 0
	o := calling{func() {
		calls++
		free := turns.mu.TryLock()
		require.True(t, free, "an object that selects, too, would wait forever")
		turns.mu.Unlock()
	}}
	assert.Len(t, next(&turns, []calling{o}, 1), 1)
	assert.Positive(t, calls)
}
