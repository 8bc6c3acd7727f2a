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
	gone := func(t *testing.T, _ string, owner *os.File) { t.Helper(); require.NoError(t, owner.Close()) }
	cases := map[string]struct {
		reason string
		age    time.Duration
		make   func(t *testing.T, dir string, owner *os.File)
		stays  bool
	}{
		"Gone":     {"Its owner ended long ago.", 25 * time.Hour, gone, false},
		"JustGone": {"The logs may explain the end.", 23 * time.Hour, gone, true},
		"Alive":    {"A control plane may run for days.", 100 * time.Hour, func(*testing.T, string, *os.File) {}, true},
		"NeverLocked": {"It is not a control plane's.", 100 * time.Hour, func(t *testing.T, dir string, owner *os.File) {
			t.Helper()
			gone(t, dir, owner)
			require.NoError(t, os.Remove(filepath.Join(dir, ownerFile)))
		}, true},
		"ALink": {"What it leads to is not a control plane's.", 100 * time.Hour, func(t *testing.T, dir string, owner *os.File) {
			t.Helper()
			gone(t, dir, owner)
			other := filepath.Join(t.TempDir(), "other")
			require.NoError(t, os.Rename(dir, other))
			require.NoError(t, os.Symlink(other, dir))
		}, true},
	}
	if os.Getuid() == 0 { // only root may give files away, and only root could remove another's
		row := cases["Gone"]
		row.reason, row.stays = "It is another user's.", true
		row.make = func(t *testing.T, dir string, owner *os.File) {
			t.Helper()
			gone(t, dir, owner)
			require.NoError(t, os.Chown(dir, 1, 1))
		}
		cases["AnotherUsers"] = row
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir, owner, err := newDir(parent)
			require.NoError(t, err)
			t.Cleanup(func() { _ = owner.Close() })
			require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd.log"), []byte("x"), 0o600))
			tc.make(t, dir, owner)
			sweep(parent, time.Now().Add(tc.age))
			_, left := os.Stat(filepath.Join(dir, "etcd.log"))
			assert.Equal(t, tc.stays, left == nil, tc.reason)
		})
	}
}
