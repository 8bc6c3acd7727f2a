// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"strings"
)

// tailLines and tailBytes bound how much of a log goes into an error.
const (
	tailLines = 12
	tailBytes = 8 << 10
)

// tail names a log and shows its last lines.
func tail(path string) string {
	log, err := os.ReadFile(path)
	if err != nil {
		return "no log: " + err.Error()
	}
	end := log[max(len(log)-tailBytes, 0):]
	lines := strings.Split(strings.TrimSpace(string(end)), "\n")
	lines = lines[max(len(lines)-tailLines, 0):]
	return fmt.Sprintf("the last lines of %s:\n\t%s", path, strings.Join(lines, "\n\t"))
}
