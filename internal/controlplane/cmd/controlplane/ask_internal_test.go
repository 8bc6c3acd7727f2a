// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAsk_EndsWithItsContext(t *testing.T) {
	t.Chdir(t.TempDir()) // a short path
	listener, err := net.Listen("unix", "s")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		_, err := ask(ctx, "s", askEnv)
		answered <- err
	}()
	select {
	case err := <-answered:
		require.Error(t, err)
	case <-time.After(time.Minute):
		assert.Fail(t, "ask waits for an answer although its context has ended")
	}
}
