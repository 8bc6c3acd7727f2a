// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnpack_FindsBothPrograms with an apt-get and a dpkg that know the
// packages of a release of Debian.
func TestUnpack_FindsBothPrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		packages map[string][]string
		fails    bool
	}{
		"OnePackage": {
			"Debian 12 has both in one package.",
			map[string][]string{"prometheus": {"prometheus", "promtool"}},
			false,
		},
		"TwoPackages": {
			"Newer releases have a package for each.",
			map[string][]string{"prometheus": {"prometheus"}, "promtool": {"promtool"}},
			false,
		},
		"NoPromtool": {
			"A cache without it would fail every later run.",
			map[string][]string{"prometheus": {"prometheus"}, "promtool": nil},
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			world := t.TempDir()
			for name, programs := range tc.packages {
				bin := filepath.Join(world, name, "usr", "bin")
				require.NoError(t, os.MkdirAll(bin, 0o755))
				for _, program := range programs {
					require.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"), 0o755))
				}
			}
			bin := t.TempDir()
			for program, script := range map[string]string{
				"apt-get": `test -d "$WORLD/$2" && echo "$2" >"$2_1.deb"`,
				"dpkg":    `mkdir -p "$3" && cp -r "$WORLD/$(cat "$2")/." "$3"`,
			} {
				body := "#!/bin/sh\n" + script + "\n"
				require.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte(body), 0o755))
			}
			t.Setenv("WORLD", world)
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			t.Setenv("CONTROLLERKIT_CACHE", t.TempDir())
			got, err := unpacked(t.Context())
			if tc.fails {
				require.ErrorContains(t, err, "promtool", tc.reason)
				assert.NoDirExists(t, filepath.Join(os.Getenv("CONTROLLERKIT_CACHE"), "prometheus"), tc.reason)
				return
			}
			require.NoError(t, err, tc.reason)
			assert.FileExists(t, filepath.Join(got, "prometheus"), tc.reason)
			assert.FileExists(t, filepath.Join(got, "promtool"), tc.reason)
		})
	}
}
