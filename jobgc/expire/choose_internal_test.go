// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestSweeper_TriesEachRun, also if many cannot be deleted.
func TestSweeper_TriesEachRun(t *testing.T) {
	s := &Sweeper{}
	for _, tc := range []struct {
		reason, due string
		limit       int
		want        string
	}{
		{"In their order.", "abcde", 2, "ab"},
		{"Runs that no sweep has tried come first.", "abcde", 2, "cd"},
		{"Then the run that was tried the longest ago.", "abcde", 2, "ea"},
		{"A new one does not wait.", "abcdef", 2, "fb"},
		{"All of them.", "abcdef", 9, "cdaebf"},
		{"Of equals the order counts.", "fedcba", 3, "fed"},
		{"None.", "", 3, ""},
		{"Who was not due is forgotten.", "cde", 1, "c"},
	} {
		s.most = tc.limit
		var due []overdue
		for _, uid := range tc.due {
			due = append(due, overdue{run: run{object: &metav1.ObjectMeta{UID: types.UID(uid)}}})
		}
		var got string
		for _, r := range s.choose(due) {
			got += string(r.object.GetUID())
		}
		assert.Equal(t, tc.want, got, tc.reason)
		assert.LessOrEqual(t, len(s.tried), len(tc.due), "only overdue runs are remembered")
	}
}
