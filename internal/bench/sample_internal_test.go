// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sink keeps the compiler from removing allocations.
var sink []byte

func TestRunCountsExactly(t *testing.T) {
	var asked int64
	var order []string
	doing := func(name string, times, size int) Subject {
		return Subject{Name: name, Requests: func() int64 { return asked }, Do: func(n int) error {
			order = append(order, name)
			for range n * times {
				asked++
				sink = make([]byte, size)
			}
			return nil
		}}
	}
	m := Measure{Ours: doing("ours", 2, 1024), Peers: []Subject{doing("peer", 1, 4096)}}
	all, err := m.run(3)
	require.NoError(t, err)
	require.Len(t, all, 4)
	assert.Len(t, all[0].of[1], 3)
	assert.Positive(t, all[0].of[0][0])
	assert.Equal(t, numbers{Count{Unit: Allocs}, [][]float64{{2, 2, 2}, {1, 1, 1}}}, all[1])
	assert.Equal(t, numbers{Count{Unit: Requests}, [][]float64{{2, 2, 2}, {1, 1, 1}}}, all[3])
	// Other goroutines of the process allocate a little too.
	assert.InEpsilon(t, 2048, median(all[2].of[0]), 0.05)
	assert.InEpsilon(t, 4096, median(all[2].of[1]), 0.05)
	assert.Equal(t, []string{"ours", "peer", "ours", "peer"}, slices.Compact(order), "they take turns")
}

func TestCountedMeasuresAreMediansToo(t *testing.T) {
	values := []float64{9, 1, 5}
	next := func() ([]float64, error) {
		v := values[0]
		values = append(values[1:], v)
		return []float64{v, 4}, nil
	}
	m := Measure{Name: "end: ", Counts: []Count{{Unit: "lost", What: "all"}, {Unit: "s"}}, Rounds: 3, Ours: Subject{Count: next}}
	all, err := m.run(8)
	require.NoError(t, err)
	assert.Equal(t, []Figure{
		{Measure: "end: all", Unit: "lost", Subject: "ours", Median: 5, Least: 1, Most: 9, Total: 15},
		{Measure: "end: ", Unit: "s", Subject: "ours", Median: 4, Least: 4, Most: 4, Total: 12},
	}, m.figures(all))
}
