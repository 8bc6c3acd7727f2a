// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/e2e/promtest"
)

func TestThePrograms(t *testing.T) {
	prometheus, promtool, err := promtest.Binaries(t.Context())
	require.NoError(t, err)
	for _, path := range []string{prometheus, promtool} {
		out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
		require.NoError(t, err, string(out))
		assert.True(t, strings.HasPrefix(string(out), filepath.Base(path)+", version "), string(out))
	}
}

// Fakes of apt-get and dpkg, so that the test does not depend on the machine.
func fakePATH(t *testing.T, scripts map[string]string) (cache string) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+script), 0o755))
	}
	t.Setenv("PATH", bin)
	cache = t.TempDir()
	t.Setenv("CONTROLLERKIT_CACHE", cache)
	return cache
}

// goodDpkg unpacks a package with both programs.
const goodDpkg = `mkdir -p "$3/usr/bin" && touch "$3/usr/bin/prometheus" "$3/usr/bin/promtool" && chmod 755 "$3"/usr/bin/*`

func TestManyProcessesShareOneCache(t *testing.T) {
	cache := fakePATH(t, map[string]string{"apt-get": "touch prometheus_1_all.deb", "dpkg": goodDpkg})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, promtool, err := promtest.Binaries(t.Context()); assert.NoError(t, err) {
				assert.Equal(t, filepath.Join(cache, "prometheus/usr/bin/promtool"), promtool)
			}
		})
	}
	wg.Wait()
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing but the cache's folder stays")

	t.Setenv("PATH", t.TempDir())
	_, _, err = promtest.Binaries(t.Context())
	assert.NoError(t, err, "the cache is enough")
}

func TestAFreshMachineIsUpdatedFirst(t *testing.T) {
	cache := fakePATH(t, map[string]string{
		"apt-get": `[ "$1" = update ] && touch "$CONTROLLERKIT_CACHE/lists" && exit
[ -e "$CONTROLLERKIT_CACHE/lists" ] && touch prometheus_1_all.deb`,
		"dpkg": goodDpkg,
	})
	_, _, err := promtest.Binaries(t.Context())
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(cache, "lists"))
}

func TestWhatIsWrongIsOneLine(t *testing.T) {
	for name, tc := range map[string]struct {
		scripts map[string]string
		want    string
		reason  string
	}{
		"no apt":         {nil, `exec: "apt-get": executable file not found in $PATH`, "another system"},
		"no lists":       {map[string]string{"apt-get": "echo first\necho E: no rights; exit 100"}, "apt-get update: exit status 100: E: no rights", "not root"},
		"not a package":  {map[string]string{"apt-get": "touch prometheus_1_all.deb", "dpkg": "echo broken; exit 2"}, "broken", "a torn download"},
		"another layout": {map[string]string{"apt-get": "touch prometheus_1_all.deb", "dpkg": `mkdir -p "$3"`}, "holds no usr/bin/prometheus", "a package that changed"},
		"nothing comes":  {map[string]string{"apt-get": "true"}, "left 0 packages", "a download that fails without an error"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := fakePATH(t, tc.scripts)
			_, _, err := promtest.Binaries(t.Context())
			require.ErrorContains(t, err, tc.want, tc.reason)
			assert.NotContains(t, err.Error(), "\n", tc.reason)
			require.ErrorContains(t, err, "install the package prometheus")
			left, err := os.ReadDir(cache)
			require.NoError(t, err)
			assert.Empty(t, left, "%s: nothing half done stays", tc.reason)
		})
	}
}
