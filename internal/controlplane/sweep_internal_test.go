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

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

func TestSweep(t *testing.T) {
	gone := func(t *testing.T, _ string, owner *os.File) { t.Helper(); require.NoError(t, owner.Close()) }
	kept := func(t *testing.T, dir string, owner *os.File) {
		t.Helper()
		gone(t, dir, owner)
		require.NoError(t, os.WriteFile(filepath.Join(dir, keptFile), nil, 0o600))
	}
	cases := map[string]struct {
		reason string
		age    time.Duration
		make   func(t *testing.T, dir string, owner *os.File)
		stays  bool
	}{
		"Gone":        {"Its owner was killed long ago.", 61 * time.Minute, gone, false},
		"JustGone":    {"The logs may explain the death.", 59 * time.Minute, gone, true},
		"Alive":       {"A control plane may run for days.", 100 * time.Hour, func(*testing.T, string, *os.File) {}, true},
		"Kept":        {"A test failed today.", 23 * time.Hour, kept, true},
		"KeptForLong": {"A test failed the day before.", 25 * time.Hour, kept, false},
		"BeingMade": {"Its owner has yet to lock it.", 61 * time.Minute, func(t *testing.T, dir string, owner *os.File) {
			t.Helper()
			gone(t, dir, owner)
			require.NoError(t, os.Truncate(filepath.Join(dir, ownerFile), 0))
		}, true},
		"NeverLocked": {"It is of an older version, which may run.", 100 * time.Hour, func(t *testing.T, dir string, owner *os.File) {
			t.Helper()
			gone(t, dir, owner)
			require.NoError(t, os.Remove(filepath.Join(dir, ownerFile)))
		}, true},
		"ALink": {"What it leads to is not a control plane's.", 61 * time.Minute, func(t *testing.T, dir string, owner *os.File) {
			t.Helper()
			gone(t, dir, owner)
			other := filepath.Join(t.TempDir(), "other")
			require.NoError(t, os.Rename(dir, other))
			require.NoError(t, os.Symlink(other, dir))
		}, true},
		"ALockThatIsALink": {"The link may lead to a lock of another user.", 61 * time.Minute, func(t *testing.T, dir string, owner *os.File) {
			t.Helper()
			gone(t, dir, owner)
			other := filepath.Join(t.TempDir(), "other")
			require.NoError(t, os.Rename(filepath.Join(dir, ownerFile), other))
			require.NoError(t, os.Symlink(other, filepath.Join(dir, ownerFile)))
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
			now := time.Now()
			require.NoError(t, os.Chtimes(dir, now.Add(-tc.age), now.Add(-tc.age)))
			err = sweep(parent, now)
			_, left := os.Stat(filepath.Join(dir, "etcd.log"))
			assert.Equal(t, tc.stays, left == nil, tc.reason)
			if name != "ALockThatIsALink" {
				require.NoError(t, err)
			}
		})
	}
}

func TestSweepLeavesWhatIsNoControlPlanes(t *testing.T) {
	parent := t.TempDir()
	other := filepath.Join(parent, "other")
	dir, owner, err := newDir(parent)
	require.NoError(t, err)
	require.NoError(t, owner.Close())
	require.NoError(t, os.Rename(dir, other))
	require.NoError(t, sweep(parent, time.Now().Add(100*time.Hour)))
	assert.DirExists(t, other)
	assert.ErrorIs(t, sweep(filepath.Join(parent, "none"), time.Now()), os.ErrNotExist)
}

// TestWhatIsKeptSaysSo: Stop marks a directory that it keeps, so that a later
// sweep does not take it for one of a killed process.
func TestWhatIsKeptSaysSo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for keep, want := range map[bool]func(assert.TestingT, string, ...any) bool{true: assert.FileExists, false: assert.NoFileExists} {
		cp, err := open(build.Binaries{}, Options{Keep: keep})
		require.NoError(t, err)
		require.NoError(t, cp.Stop())
		want(t, filepath.Join(cp.Dir(), keptFile))
	}
}
