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
	require.Len(t, all, 8)
	names := map[string]bool{}
	for _, s := range all {
		assert.NotEmpty(t, s.Title, s.File)
		assert.NotEmpty(t, s.Phase, s.File)
		assert.NotEmpty(t, s.Reason, s.File)
		assert.False(t, names[s.Run.Name], "two samples have a run named %s", s.Run.Name)
		names[s.Run.Name] = true
	}
}
