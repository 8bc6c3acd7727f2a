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
			{Unit: Allocs, Limit: "<= 20"},
			{Unit: Allocs, Peer: "one", Limit: "<= 0.1x"},
			{Unit: "lost", Limit: "= 0"},
			{Unit: "late", Limit: "<= 1"},
		},
	}
	got, err := m.rows([]Sample{
		{Unit: Nanos, Ours: 50_000, Peers: []float64{100_000, 20_000}, Ratios: []float64{0.51, 2.5}},
		{Unit: Allocs, Ours: 14, Peers: []float64{116, 0}},
		{Unit: "lost", Most: 2, Peers: []float64{0, 3}},
		{Unit: "late", Most: 2, Peers: []float64{0, 3}},
	})
	require.NoError(t, err)
	assert.Equal(t, []Row{
		{"write", "ns", "50000", "one", "100000", "0.51", "<= 0.5x", "FAIL"}, // the ratio of the rounds
		{"write", "ns", "50000", "two", "20000", "2.5", "<= 2x or 50000", "pass"},
		{"write", "allocs", "14", "-", "-", "-", "<= 20", "pass"},
		{"write", "allocs", "14", "one", "116", "0.121", "<= 0.1x", "FAIL"},
		{"write", "allocs", "14", "two", "0", "-", "-", "-"},
		{"write", "lost", "2", "-", "-", "-", "= 0", "FAIL"}, // a median hides what was lost once
		{"write", "lost", "0", "one", "0", "-", "-", "-"},
		{"write", "lost", "0", "two", "3", "0", "-", "-"},
		{"write", "late", "0", "-", "-", "-", "<= 1", "pass"}, // other numbers vary
		{"write", "late", "0", "one", "0", "-", "-", "-"},
		{"write", "late", "0", "two", "3", "0", "-", "-"},
	}, got)
}

func TestGatesThatCannotBeChecked(t *testing.T) {
	for reason, gates := range map[string][]Gate{
		"A gate against an unknown peer would always pass.": {{Unit: Allocs, Peer: "three", Limit: "<= 0.1x"}},
		"Nor on a unit that is not measured.":               {{Unit: "requests", Limit: "= 0"}},
		"The second would hide the first.":                  {{Unit: Allocs, Limit: "= 0"}, {Unit: Allocs, Limit: "= 1"}},
		"A ratio needs a peer.":                             {{Unit: Allocs, Limit: "<= 0.1x"}},
		"A limit must be readable.":                         {{Unit: Allocs, Limit: "few"}},
	} {
		m := Measure{Name: "write", Peers: []Subject{{Name: "one"}}, Gates: gates}
		_, err := m.rows([]Sample{{Unit: Allocs, Ours: 14, Peers: []float64{116}}})
		assert.Error(t, err, reason)
	}
}
