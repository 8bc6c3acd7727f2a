// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// walks are the tests that show one usual life, and where a reader begins.
var walks = []struct {
	in    string
	name  string
	first string // a file that the life must enter
	also  string // other packages that it passes; empty counts the package alone
}{
	{"events", "TestUpdate_ThatFailsIsTriedAgainAtOnce", "events/write.go", "./internal/..."},
	{"events", "TestScenes/retry", "events/write.go", ""}, // the book alone
	{"jobgc", "TestScenes/run", "jobgc/step.go", "./internal/..."},
	{"jobgc", "ExampleGuard_Step", "jobgc/step.go", ""}, // no informer events, no second process
	{"status", "TestScenes/first-write", "status/commit.go", "./internal/..."},
	{"rollout/plan", "ExamplePlan_String", "rollout/plan/migration.go", "./rollout/..."},
}

// TestWalk_PrintsWhatAUsualLifeEnters lists the functions and the files that a
// reader passes who follows one usual life through a package. A rebuilding
// should make the list shorter; nothing holds it to a number.
func TestWalk_PrintsWhatAUsualLifeEnters(t *testing.T) {
	for _, walk := range walks {
		t.Run(walk.in+" "+walk.name, func(t *testing.T) {
			t.Parallel()
			entered := entered(t, walk.in, walk.name, walk.also)
			total := 0
			for _, file := range slices.Sorted(maps.Keys(entered)) {
				total += len(entered[file])
				t.Logf("%s: %s", file, strings.Join(entered[file], ", "))
			}
			t.Logf("%s enters %d functions in %d files", walk.name, total, len(entered))
			assert.Contains(t, entered, walk.first)
		})
	}
}

// entered runs a test with coverage, and returns the functions of the library
// that it has entered, by file.
func entered(t *testing.T, in, test, also string) map[string][]string {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "cover.out")
	only := "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
	counted := "./" + in
	if also != "" {
		counted += "," + also
	}
	run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", only, "-coverprofile", profile,
		"-coverpkg", counted, "./"+in)
	run.Dir = root
	newest, err := filepath.Abs(filepath.Join(root, "internal", "compat", "newest.work"))
	require.NoError(t, err)
	run.Env = os.Environ()
	isFloor := strings.HasPrefix(os.Getenv("GOTOOLCHAIN"), "go") // make test-floor, whose Go is older than newest.work
	if !isFloor {
		run.Env = append(run.Env, "GOWORK="+newest) // which the unit tests have compiled
	}
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "no tests to run", "%s has no %s: name a test that it has", in, test)
	list := exec.CommandContext(t.Context(), "go", "tool", "cover", "-func", profile)
	list.Dir = root
	out, err = list.Output()
	require.NoError(t, err)
	entered := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] == "0.0%" || fields[0] == "total:" {
			continue
		}
		path, _, _ := strings.Cut(fields[0], ":")
		path = strings.TrimPrefix(path, "github.com/proompteng/controllerkit/")
		entered[path] = append(entered[path], fields[1])
	}
	return entered
}
