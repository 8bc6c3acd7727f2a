// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// countListeners returns a check of how many more sockets take connections than
// now.
func countListeners(t *testing.T) func(more int) {
	t.Helper()
	before := len(listening(t))
	return func(more int) {
		t.Helper()
		assert.Len(t, listening(t), before+more, "the service has no listener that it was not given")
	}
}

// listening are the sockets of this process that take connections, as the
// kernel tells it.
func listening(t *testing.T) (sockets []string) {
	t.Helper()
	const listen = "0A" // TCP_LISTEN in the kernel's include/net/tcp_states.h
	takes := map[string]bool{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		body, err := os.ReadFile(table)
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		require.NoError(t, err)
		for line := range strings.Lines(string(body)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == listen {
				takes["socket:["+f[9]+"]"] = true
			}
		}
	}
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && takes[target] {
			sockets = append(sockets, target)
		}
	}
	return sockets
}
