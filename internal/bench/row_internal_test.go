// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRows(t *testing.T) {
	m := Measure{
		Name:  "write",
		Peers: []Subject{{Name: "one"}, {Name: "two"}},
		Gates: []Gate{
			{Unit: Nanos, Peer: "one", Limit: "<= 0.5x"},
			{Unit: Nanos, Peer: "two", Limit: "<= 2x or 50000"},
			{Unit: Bytes, Peer: "one", Limit: "<= 2x or 50000"},
			{Unit: Bytes, Peer: "two", Limit: "<= 0.1x"},
			{Unit: Allocs, Limit: "<= 20"},
			{Unit: Allocs, Peer: "one", Limit: "<= 0.1x"},
			{Unit: "late", Limit: "<= 1"},
		},
	}
	got, err := m.rows([]numbers{
		{Count{Unit: Nanos}, [][]float64{{51, 51, 50}, {100, 100, 100}, {20, 10, 25}}},
		{Count{Unit: Bytes}, [][]float64{{50_001}, {20_000}, {0}}},
		{Count{Unit: Allocs}, [][]float64{{20}, {116}, {0}}},
		{Count{Unit: "lost", What: ", end", Limit: "= 0"}, [][]float64{{0, 2, 0}, {0, 0, 0}, {3, 3, 3}}},
		{Count{Unit: "late"}, [][]float64{{1.0625, 2, 1}, {0, 0, 0}, {3, 3, 3}}},
	})
	require.NoError(t, err)
	assert.Equal(t, []Row{
		{"write", "ns", "51", "one", "100", "0.51", "<= 0.5x", "FAIL"},
		{"write", "ns", "51", "two", "20", "2.55", "<= 2x or 50000", "pass"},     // the ratio of the rounds
		{"write", "B", "50001", "one", "20000", "2.5", "<= 2x or 50000", "FAIL"}, // more than both
		{"write", "B", "50001", "two", "0", "-", "<= 0.1x", "FAIL"},              // a tenth of nothing is nothing
		{"write", "allocs", "20", "-", "-", "-", "<= 20", "pass"},
		{"write", "allocs", "20", "one", "116", "0.172", "<= 0.1x", "FAIL"},
		{"write", "allocs", "20", "two", "0", "-", "-", "-"},
		{"write, end", "lost", "2", "-", "-", "-", "= 0", "FAIL"}, // a median hides what was lost once
		{"write, end", "lost", "0", "one", "0", "-", "-", "-"},
		{"write, end", "lost", "0", "two", "3", "0", "-", "-"},
		{"write", "late", "1.06", "-", "-", "-", "<= 1", "FAIL"}, // other numbers vary
		{"write", "late", "1.06", "one", "0", "-", "-", "-"},
		{"write", "late", "1.06", "two", "3", "0.354", "-", "-"},
	}, got)
	require.ErrorContains(t, failed(got), "write: B is 50001")
}

func TestGatesThatCannotBeChecked(t *testing.T) {
	for reason, gate := range map[string]Gate{
		"A gate against an unknown peer would always pass.": {Unit: Allocs, Peer: "three", Limit: "<= 0.1x"},
		"Nor on a unit that is not measured.":               {Unit: "requests", Limit: "= 0"},
		"A limit must be readable.":                         {Unit: Allocs, Limit: "< 20"},
	} {
		m := Measure{Name: "write", Peers: []Subject{{Name: "one"}}, Gates: []Gate{gate}}
		_, err := m.rows([]numbers{{Count{Unit: Allocs}, [][]float64{{14}, {116}}}})
		assert.Error(t, err, reason)
	}
}
