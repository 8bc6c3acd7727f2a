// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repotest_test holds the rules of the repository that no single
// package can check: what importing a package costs, that the packages stay
// apart, that the exported API changes only on purpose, and that README's code
// compiles.
//
// The files code_* check rules of the code, docs_* of the documents. A rule
// that fails says where, and how to comply.
package repotest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const module = "github.com/proompteng/controllerkit"

// root is the top of the checkout, seen from this folder.
var root = filepath.Join("..", "..")

// pkg is the part of go list's answer that the rules need.
type pkg struct {
	Dir        string
	ImportPath string
	Standard   bool
	GoFiles    []string
	Imports    []string
}

// name is the import path below the module, "" for the root.
func (p pkg) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// public are the packages a user can import.
func public(t *testing.T) []pkg {
	t.Helper()
	var out []pkg
	for _, p := range list(t, "./...") {
		folders := strings.Split(p.name(), "/")
		if !slices.Contains(folders, "internal") && folders[0] != "examples" {
			out = append(out, p)
		}
	}
	require.NotEmpty(t, out)
	return out
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=Dir,ImportPath,Standard,GoFiles,Imports"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			require.NoError(t, err)
		}
		pkgs = append(pkgs, p)
	}
}

// tracked are the files that git knows, with their contents.
func tracked(t *testing.T, patterns ...string) map[string][]byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "-z", "--"}, patterns...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		body, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, not yet committed
		}
		require.NoError(t, err)
		files[name] = body
	}
	require.NotEmpty(t, files)
	return files
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(body)
}
