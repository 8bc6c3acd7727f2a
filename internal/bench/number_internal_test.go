// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMedian(t *testing.T) {
	assert.InDelta(t, 3, median([]float64{9, 1, 3}), 0, "of an odd number it is one of them, in any order")
	assert.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 0, "of an even number the mean of the two in the middle")
	assert.InDelta(t, 7, median([]float64{7}), 0)
	values := []float64{3, 1, 2}
	median(values)
	assert.Equal(t, []float64{3, 1, 2}, values, "the values keep their order")
}

func TestNumbersAreShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 7: "7", 12345.6: "12346", 99.96: "100", 49.24: "49.2", 0.123456: "0.123", 0.06283: "0.0628", 1e6: "1000000"} {
		assert.Equal(t, want, number(v))
	}
}
