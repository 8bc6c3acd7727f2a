// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package redact_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/events/redact"
)

func TestCleanTextCostsNoAllocation(t *testing.T) {
	for _, m := range lines(t, "benign.txt") {
		assert.Zero(t, testing.AllocsPerRun(10, func() { redact.Note(m, redact.Text) }), m)
	}
	var secrets redact.SecretValues
	secrets.Add([]byte("a registered value"))
	secrets.Redact("compiles")
	assert.Zero(t, testing.AllocsPerRun(10, func() { secrets.Redact("nothing registered is in here") }))
	known := []byte("a registered value")
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() { secrets.Add(known) }), 1.0, "adding what is known is cheap")
}
