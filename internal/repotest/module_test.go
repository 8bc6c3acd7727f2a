// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repotest_test holds the rules of the repository that no single
// package can check: what importing a package costs, that the packages stay
// apart, that the exported API changes only on purpose, and that README's code
// compiles.
package repotest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
