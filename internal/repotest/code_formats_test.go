// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVet_ReportsWrongFormats: go vet recognizes the format functions of the
// recorders. Each call in testdata/formats has a wrong format.
func TestVet_ReportsWrongFormats(t *testing.T) {
	// The packages were compiled for the tests with these flags and versions.
	newest, err := filepath.Abs(filepath.Join(root, "internal/compat/newest.work"))
	require.NoError(t, err)
	args, work := []string{"vet", "-race", "./testdata/formats"}, newest
	if version.Compare(runtime.Version(), "go1.26") < 0 { // make test-floor
		args, work = []string{"vet", "./testdata/formats"}, "off"
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK="+work, "CGO_ENABLED=1") // -race needs cgo
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "go vet accepts the wrong formats in testdata/formats; the format functions must end in f and call fmt.Sprintf: %s", out)
	var functions []string
	for _, m := range regexp.MustCompile(`formats\.go:\d+:\d+: \(\*\S+/(\S+)\)\.(\w+) format %d has arg "text" of wrong type string`).FindAllStringSubmatch(string(out), -1) {
		functions = append(functions, m[1]+"."+m[2])
	}
	assert.ElementsMatch(t, []string{
		"events.Recorder.Eventf", "events.LegacyRecorder.Eventf", "events.LegacyRecorder.AnnotatedEventf",
		"eventstest.Recorder.Eventf", "eventstest.LegacyRecorder.Eventf", "eventstest.LegacyRecorder.AnnotatedEventf",
	}, functions, "go vet does not check these functions; they must end in f and call fmt.Sprintf:\n%s", out)
}
