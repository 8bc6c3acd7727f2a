// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	_ "embed"
	"strconv"
	"strings"
)

const loopback = "127.0.0.1"

//go:embed flags.txt
var flags string

// flagsOf returns the flags below a heading of flags.txt.
func flagsOf(program, dir string, port int) (all []string) {
	_, below, _ := strings.Cut(flags, "\n["+program+"]\n")
	section, _, _ := strings.Cut(below, "\n[")
	fill := strings.NewReplacer("$DIR", dir, "$PORT", strconv.Itoa(port))
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "--") {
			all = append(all, fill.Replace(strings.TrimSpace(line)))
		}
	}
	return all
}
