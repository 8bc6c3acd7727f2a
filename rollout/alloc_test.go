// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
)

func TestAllocations(t *testing.T) {
	d := agents()
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(t, errs)

	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = rollout.Render(d, false, rollout.Options{}) }), "off costs nothing")
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Counts(20) }))
}
