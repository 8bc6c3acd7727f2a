// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package play_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/demo/play"
)

func TestLoad(t *testing.T) {
	all, err := play.Load()
	require.NoError(t, err)
	require.Len(t, all, 9)
	names := map[string]bool{}
	for _, s := range all {
		assert.NotEmpty(t, s.Title, s.File)
		assert.NotEmpty(t, s.Phase, s.File)
		assert.NotEmpty(t, s.Reason, s.File)
		for _, name := range s.Names() {
			assert.False(t, names[name], "two samples have a run named %s", name)
			names[name] = true
		}
	}
	assert.Len(t, names, 58)
	last := all[len(all)-1]
	assert.Positive(t, last.KillAfter, last.File)
	assert.Less(t, last.KillAfter, last.Copies, "some runs are in flight when the controller is killed")
}
