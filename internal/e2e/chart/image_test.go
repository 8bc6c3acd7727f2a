// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// imageProgram is the program of the image: what the Dockerfile compiles, by
// its own line.
func imageProgram(t *testing.T) string {
	t.Helper()
	path, err := buildImageProgram()
	require.NoError(t, err)
	return path
}

var buildImageProgram = sync.OnceValues(func() (string, error) {
	body, err := os.ReadFile(filepath.Join(chartDir, "Dockerfile"))
	if err != nil {
		return "", err
	}
	line := regexp.MustCompile(`(?m)^RUN (.* go build .* -o )/agentrun \.$`).FindStringSubmatch(string(body))
	dirs := regexp.MustCompile(`(?m)^WORKDIR /src/(.+)$`).FindStringSubmatch(string(body))
	if line == nil || dirs == nil {
		return "", fmt.Errorf("the Dockerfile has no RUN ... go build ... -o /agentrun . under a WORKDIR of the example")
	}
	path := filepath.Join(helm.home, "agentrun")
	cmd := exec.Command("sh", "-c", line[1]+path+" .")
	cmd.Dir = filepath.Join(chartDir, "..", "..", dirs[1])
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.TrimSpace(line[0]), err, out)
	}
	return path, nil
})
