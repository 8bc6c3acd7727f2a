// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All ways must do the same job: without faults each reports every failed
// object.
func TestEveryWayWritesFirstOccurrences(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := scenario{record: burst(20, time.Millisecond), after: time.Minute}
				out, err := sc.run(t.Context(), w)
				require.NoError(t, err)
				assert.Equal(t, outcome{Writes: 20, Most: out.Most, Last: out.Last}, out)
				assert.InDelta(t, 0.02, out.Last, 0.01)
			})
		})
	}
}
