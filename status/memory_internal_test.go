// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/types"
)

func TestMemory_IsBounded(t *testing.T) {
	m := newMemory()
	now := time.Now()
	for i := range maxWrites + 1 {
		m.set(types.UID(strconv.Itoa(i)), lastWrite{version: uint64(i + 1)}, now)
		assert.LessOrEqual(t, len(m.writes), maxWrites)
	}
	assert.EqualValues(t, maxWrites+1, m.of(types.UID(strconv.Itoa(maxWrites)), now).version, "the last write is known")
	assert.Zero(t, m.of("0", now), "the others are forgotten")
	assert.Zero(t, m.of(types.UID(strconv.Itoa(maxWrites)), now.Add(rememberWrite)), "after five minutes, this one is too")
}
