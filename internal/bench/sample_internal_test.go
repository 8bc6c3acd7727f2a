// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sink keeps the compiler from removing allocations.
var sink []byte

func TestRunCountsExactly(t *testing.T) {
	var asked int64
	m := Measure{
		Name: "allocate",
		Ours: Subject{Do: Each(func() error { asked += 2; sink = make([]byte, 1024); return nil }), Requests: func() int64 { return asked }},
		Peers: []Subject{{
			Name:     "peer",
			Do:       Each(func() error { asked++; sink = make([]byte, 4096); sink = make([]byte, 4096); return nil }),
			Requests: func() int64 { return asked },
		}},
	}
	samples, _, err := m.run(2)
	require.NoError(t, err)
	require.Len(t, samples, 4)
	assert.Equal(t, Nanos, samples[0].Unit)
	assert.Positive(t, samples[0].Ours)
	assert.Equal(t, []Sample{
		{Name: "allocate", Unit: Allocs, Ours: 1, Peers: []float64{2}},
		{Name: "allocate", Unit: Bytes, Ours: 1024, Peers: []float64{8192}},
		{Name: "allocate", Unit: Requests, Ours: 2, Peers: []float64{1}},
	}, samples[1:])
}

func TestSubjectsTakeTurns(t *testing.T) {
	var order []byte
	turns := func(name byte) Subject {
		return Subject{Name: string(name), Do: func(n int) error {
			if len(order) == 0 || order[len(order)-1] != name {
				order = append(order, name)
			}
			sink = make([]byte, 512*n)
			return nil
		}}
	}
	_, _, err := Measure{Ours: turns('a'), Peers: []Subject{turns('b')}}.run(8)
	require.NoError(t, err)
	assert.Equal(t, "abababab", string(order[:8]), "the subjects are measured alternately")
}

func TestCountedMeasuresAreMediansToo(t *testing.T) {
	values := []float64{9, 1, 5}
	next := func() ([]float64, error) {
		v := values[0]
		values = append(values[1:], v)
		return []float64{v, 4}, nil
	}
	m := Measure{Name: "end: ", Counts: []Count{{Unit: "lost", What: "all"}, {Unit: "s"}}, Rounds: 3, Ours: Subject{Count: next}}
	samples, figures, err := m.run(8)
	require.NoError(t, err)
	assert.Equal(t, []Sample{{Name: "end: all", Unit: "lost", Ours: 5, Peers: []float64{}, Most: 9}, {Name: "end: ", Unit: "s", Ours: 4, Peers: []float64{}, Most: 4}}, samples)
	assert.Equal(t, []Figure{
		{Measure: "end: all", Unit: "lost", Subject: "ours", Median: 5, Least: 1, Most: 9},
		{Measure: "end: ", Unit: "s", Subject: "ours", Median: 4, Least: 4, Most: 4},
	}, figures)
}
