// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promtest finds and runs the programs prometheus and promtool, to test
// rules and queries with them.
//
// It uses the programs in PATH. If they are not installed, it downloads
// Debian's package and unpacks it, without an installation, into the folder
// prometheus of a cache: CONTROLLERKIT_CACHE, or controllerkit in the user's
// cache folder. You may delete it. That needs apt-get and dpkg, and root only
// if apt has no package lists yet.
//
// Start runs a Prometheus on the loopback address for a test.
package promtest

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed unpack.sh
var unpack string

// Binaries returns the paths of the two programs. Several processes may call it
// concurrently.
func Binaries(ctx context.Context) (prometheus, promtool string, err error) {
	prometheus, err = exec.LookPath("prometheus")
	if err == nil {
		promtool, err = exec.LookPath("promtool")
	}
	if err == nil {
		return prometheus, promtool, nil
	}
	bin, err := unpacked(ctx)
	return filepath.Join(bin, "prometheus"), filepath.Join(bin, "promtool"), err
}

// unpacked returns the folder of the programs in the cache.
func unpacked(ctx context.Context) (bin string, err error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", unpack)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("promtest: prometheus and promtool are not in PATH, and Debian's "+
			"package cannot be unpacked; install the package prometheus: %w\n%s", err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}
