// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadmeShowsWhatHelloPrints compares hello's output with the README of
// this folder.
func TestReadmeShowsWhatHelloPrints(t *testing.T) {
	var out bytes.Buffer
	for _, show := range []func(context.Context, io.Writer) error{helloStatus, helloEvents, helloJobGC, helloMetrics, helloRollout} {
		require.NoError(t, show(t.Context(), &out))
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "```text\n"+out.String()+"```")
}
