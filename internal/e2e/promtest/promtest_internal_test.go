// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakes puts an apt-get without package lists and a dpkg before those of the
// machine, and returns the folder of an empty cache.
func fakes(t *testing.T, aptGet, dpkg string) (cache string) {
	t.Helper()
	bin, cache := t.TempDir(), t.TempDir()
	aptGet = "[ $1 = update ] && touch lists && exit; [ -e lists ] || exit 100\n" + aptGet
	for name, script := range map[string]string{"apt-get": aptGet, "dpkg": dpkg} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("CONTROLLERKIT_CACHE", cache)
	return cache
}

func TestUnpacked_ByManyProcesses(t *testing.T) {
	cache := fakes(t, "touch prometheus_1_all.deb", `mkdir -p $3/usr/bin && install -m 755 /dev/null $3/usr/bin/prometheus && install -m 755 /dev/null $3/usr/bin/promtool`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if bin, err := unpacked(t.Context()); assert.NoError(t, err) {
				assert.FileExists(t, filepath.Join(bin, "promtool"))
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	assert.Len(t, left, 1, "only the cache's folder stays")
}

func TestUnpacked_Fails(t *testing.T) {
	for name, tc := range map[string]struct{ aptGet, dpkg, want, reason string }{
		"no package":     {"echo no rights; exit 100", "", "no rights", "not root, or no network"},
		"not a package":  {"touch prometheus_1_all.deb", "echo broken; exit 2", "broken", "a torn download"},
		"another layout": {"touch prometheus_1_all.deb", "mkdir -p $3", "has no usr/bin/prometheus", "a package that changed"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := fakes(t, tc.aptGet, tc.dpkg)
			_, err := unpacked(t.Context())
			require.ErrorContains(t, err, tc.want, tc.reason)
			require.ErrorContains(t, err, "install the package prometheus")
			left, err := os.ReadDir(cache)
			require.NoError(t, err)
			assert.Empty(t, left, "%s: nothing half done stays", tc.reason)
		})
	}
}
