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
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	server = "prometheus"
	tool   = "promtool"
)

// Binaries returns the paths of the two programs. Several processes may call it
// concurrently: the cache's folder appears only when it is complete. The error
// is one line that names the attempts and the remedy.
func Binaries(ctx context.Context) (prometheus, promtool string, err error) {
	if prometheus, promtool, err = installed(); err == nil {
		return prometheus, promtool, nil
	}
	dir, err := cacheDir()
	if err != nil {
		return "", "", err
	}
	bin := filepath.Join(dir, "usr", "bin")
	if !holds(bin) {
		if err := unpack(ctx, dir); err != nil {
			return "", "", fmt.Errorf("promtest: no %s and %s in PATH or %s, and Debian's package cannot be had: %w; install the package prometheus, or put both programs into PATH",
				server, tool, bin, err)
		}
	}
	return filepath.Join(bin, server), filepath.Join(bin, tool), nil
}

func installed() (prometheus, promtool string, err error) {
	prometheus, err = exec.LookPath(server)
	if err != nil {
		return "", "", err
	}
	promtool, err = exec.LookPath(tool)
	return prometheus, promtool, err
}

func cacheDir() (string, error) {
	root := os.Getenv("CONTROLLERKIT_CACHE")
	if root == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("promtest: no cache directory: %w; name one in CONTROLLERKIT_CACHE", err)
		}
		root = filepath.Join(dir, "controllerkit")
	}
	return filepath.Abs(filepath.Join(root, server))
}

// holds reports whether dir has both programs.
func holds(dir string) bool {
	for _, name := range []string{server, tool} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// unpack fills a folder next to dir and renames it. If another process was
// faster, its folder is used.
func unpack(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), server+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := download(ctx, temp); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(temp, server+"_*.deb"))
	if err != nil || len(debs) != 1 {
		return errors.Join(fmt.Errorf("apt-get download left %d packages", len(debs)), err)
	}
	tree := filepath.Join(temp, "tree")
	if err := command(ctx, temp, "dpkg", "-x", debs[0], tree); err != nil {
		return err
	}
	if !holds(filepath.Join(tree, "usr", "bin")) {
		return errors.New("the package holds no usr/bin/prometheus and usr/bin/promtool")
	}
	if err := os.Rename(tree, dir); err != nil && !holds(filepath.Join(dir, "usr", "bin")) {
		return err
	}
	return nil
}

// download downloads the package. On a fresh machine without package lists it
// runs apt-get update first.
func download(ctx context.Context, dir string) error {
	first := command(ctx, dir, "apt-get", "download", server)
	if first == nil || errors.Is(first, exec.ErrNotFound) {
		return first
	}
	if err := command(ctx, dir, "apt-get", "update"); err != nil {
		return fmt.Errorf("%w; then %w", first, err)
	}
	return command(ctx, dir, "apt-get", "download", server)
}

// command runs a program in dir. If it fails, the error has its last line.
func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: %w: %s", strings.Join(append([]string{name}, args...), " "), err, lines[len(lines)-1])
}
