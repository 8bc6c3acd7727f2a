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
	file, err := os.Open(path)
	if err != nil {
		return "no log: " + err.Error()
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "no log: " + err.Error()
	}
	from := max(info.Size()-tailBytes, 0)
	end := make([]byte, info.Size()-from)
	n, _ := file.ReadAt(end, from) // show what was read, even after an error
	lines := strings.Split(strings.TrimSpace(string(end[:n])), "\n")
	lines = lines[max(len(lines)-tailLines, 0):]
	return fmt.Sprintf("the last lines of %s:\n\t%s", path, strings.Join(lines, "\n\t"))
}
