// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRaceScript_RepeatsACrashOfTheDetectorAlone with a go command that fails
// once with the text, and passes the second time.
func TestRaceScript_RepeatsACrashOfTheDetectorAlone(t *testing.T) {
	const crash = "ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346\nFAIL\texample.com/a\t1s\n"
	for name, tc := range map[string]struct {
		reason, output string
		passes         bool
	}{
		"Crash":         {"The second run has the result.", crash, true},
		"Segmentation":  {"It crashes there too.", "SIGSEGV\nruntime.(*timer).maybeRunChan(0xc0)\nFAIL\texample.com/a\t1s\n", true},
		"FailedTest":    {"A failure is never repeated.", "--- FAIL: TestA (0.1s)\nFAIL\texample.com/a\t1s\n", false},
		"Both":          {"The failure counts.", "    --- FAIL: TestA/b (0.1s)\n" + crash, false},
		"Race":          {"A race may show only once.", "WARNING: DATA RACE\n" + crash, false},
		"NoCompilation": {"It would fail again.", "FAIL\texample.com/a [build failed]\n" + crash, false},
		"AnotherEnd":    {"The reason is unknown.", "signal: killed\nFAIL\texample.com/a\t1s\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "output"), []byte(tc.output), 0o600))
			fake := "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n[ -e second ] && [ \"$GOMAXPROCS\" = 1 ] && exit 0\ntouch second\ncat output\nexit 1\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(fake), 0o755))
			script := exec.CommandContext(t.Context(), filepath.Join(root, "internal/tools/race.sh"), "./...")
			script.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := script.CombinedOutput()
			assert.Equal(t, tc.passes, err == nil, "%s\n%s", tc.reason, out)
		})
	}
}
