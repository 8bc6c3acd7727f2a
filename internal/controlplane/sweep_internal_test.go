// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSweep(t *testing.T) {
	cases := map[string]struct {
		reason string
		age    time.Duration
		alive  bool
		stays  bool
	}{
		"Gone":     {"Its owner ended long ago.", 25 * time.Hour, false, false},
		"JustGone": {"The logs may explain the end.", 23 * time.Hour, false, true},
		"Alive":    {"A control plane may run for days.", 100 * time.Hour, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir, owner, err := newDir(parent)
			require.NoError(t, err)
			t.Cleanup(func() { _ = owner.Close() })
			require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd.log"), []byte("x"), 0o600))
			if !tc.alive {
				require.NoError(t, owner.Close())
			}
			sweep(parent, time.Now().Add(tc.age))
			_, left := os.Stat(filepath.Join(dir, "etcd.log"))
			assert.Equal(t, tc.stays, left == nil, tc.reason)
		})
	}
}
