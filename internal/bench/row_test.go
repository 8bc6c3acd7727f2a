// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/bench"
)

func TestRows(t *testing.T) {
	m := bench.Measure{
		Name:  "write",
		Peers: []bench.Subject{{Name: "one"}, {Name: "two"}},
		Gates: []bench.Gate{
			{Unit: bench.Allocs, Limit: "<= 20"},
			{Unit: bench.Allocs, Peer: "one", Limit: "<= 0.1x"},
		},
	}
	got, err := bench.Rows("status", m, []bench.Sample{{Unit: bench.Allocs, Ours: 14, Peers: []float64{116, 0}}, {Unit: bench.Bytes, Ours: 1, Peers: []float64{2, 4}}})
	require.NoError(t, err)
	assert.Equal(t, []bench.Row{
		{"status", "write", "allocs", "14", "-", "-", "-", "<= 20", "pass"},
		{"status", "write", "allocs", "14", "one", "116", "0.121", "<= 0.1x", "FAIL"},
		{"status", "write", "allocs", "14", "two", "0", "-", "-", "-"},
		{"status", "write", "B", "1", "one", "2", "0.5", "-", "-"},
		{"status", "write", "B", "1", "two", "4", "0.25", "-", "-"},
	}, got)
}

func TestTheRatioOfTimesIsThatOfTheRounds(t *testing.T) {
	m := bench.Measure{Name: "write", Peers: []bench.Subject{{Name: "one"}}, Gates: []bench.Gate{{Unit: bench.Nanos, Peer: "one", Limit: "<= 0.5x"}}}
	sample := bench.Sample{Unit: bench.Nanos, Ours: 10, Peers: []float64{10}, Ratios: []float64{0.5}}
	got, err := bench.Rows("status", m, []bench.Sample{sample})
	require.NoError(t, err)
	assert.Equal(t, []bench.Row{{"status", "write", "ns", "10", "one", "10", "0.5", "<= 0.5x", "pass"}}, got)
	sample.Ratios[0] = 0.51
	got, err = bench.Rows("status", m, []bench.Sample{sample})
	require.NoError(t, err)
	assert.Equal(t, []bench.Row{{"status", "write", "ns", "10", "one", "10", "0.51", "<= 0.5x", "FAIL"}}, got)
}

func TestARatioMayBeMoreWhereTheTimeIsSmall(t *testing.T) {
	m := bench.Measure{Name: "write", Peers: []bench.Subject{{Name: "one"}}, Gates: []bench.Gate{{Unit: bench.Nanos, Peer: "one", Limit: "<= 2x or 50000"}}}
	for ours, want := range map[float64]string{50_000: "pass", 50_001: "FAIL"} {
		sample := bench.Sample{Unit: bench.Nanos, Ours: ours, Peers: []float64{20_000}, Ratios: []float64{2.5}}
		got, err := bench.Rows("status", m, []bench.Sample{sample})
		require.NoError(t, err)
		assert.Equal(t, want, got[0].Pass)
	}
}

func TestAResultThatWasLostOnceIsNoMedian(t *testing.T) {
	m := bench.Measure{Name: "lost", Unit: "runs", Gates: []bench.Gate{{Unit: "runs", Limit: "= 0"}}}
	got, err := bench.Rows("controller", m, []bench.Sample{{Unit: "runs", Ours: 0, Most: 2}})
	require.NoError(t, err)
	assert.Equal(t, []bench.Row{{"controller", "lost", "runs", "2", "-", "-", "-", "= 0", "FAIL"}}, got)
	m.Gates[0].Limit = "<= 1"
	got, err = bench.Rows("controller", m, []bench.Sample{{Unit: "runs", Ours: 0, Most: 2}})
	require.NoError(t, err)
	assert.Equal(t, []bench.Row{{"controller", "lost", "runs", "0", "-", "-", "-", "<= 1", "pass"}}, got, "other numbers vary")
}

func TestRowsWithoutPeers(t *testing.T) {
	got, err := bench.Rows("status", bench.Measure{Name: "observe"}, []bench.Sample{{Unit: bench.Allocs, Ours: 0}})
	require.NoError(t, err)
	assert.Equal(t, []bench.Row{{"status", "observe", "allocs", "0", "-", "-", "-", "-", "-"}}, got)
}

func TestGatesThatCannotBeChecked(t *testing.T) {
	cases := map[string]struct {
		reason string
		gates  []bench.Gate
	}{
		"UnknownPeer":  {"A gate against an unknown peer would always pass.", []bench.Gate{{Unit: bench.Allocs, Peer: "three", Limit: "<= 0.1x"}}},
		"UnknownUnit":  {"Nor on a unit that is not measured.", []bench.Gate{{Unit: "requests", Limit: "= 0"}}},
		"Twice":        {"The second would hide the first.", []bench.Gate{{Unit: bench.Allocs, Limit: "= 0"}, {Unit: bench.Allocs, Limit: "= 1"}}},
		"RatioOfOwn":   {"A ratio needs a peer.", []bench.Gate{{Unit: bench.Allocs, Limit: "<= 0.1x"}}},
		"NotALimit":    {"A limit must be readable.", []bench.Gate{{Unit: bench.Allocs, Limit: "few"}}},
		"NotALimitToo": {"A peer does not change that.", []bench.Gate{{Unit: bench.Allocs, Peer: "one", Limit: "few"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := bench.Measure{Name: "write", Peers: []bench.Subject{{Name: "one"}}, Gates: tc.gates}
			_, err := bench.Rows("status", m, []bench.Sample{{Unit: bench.Allocs, Ours: 14, Peers: []float64{116}}})
			assert.Error(t, err, tc.reason)
		})
	}
}
