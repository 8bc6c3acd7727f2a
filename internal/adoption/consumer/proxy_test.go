// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package consumer_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	modzip "golang.org/x/mod/zip"
)

const modulePath = "github.com/proompteng/controllerkit"

// release is the commit at hand as a module proxy would serve it, in a folder
// that go reads as one.
type release struct {
	version string
	url     string   // for GOPROXY
	files   []string // of the zip, relative to the module
	bytes   int
	nested  []string // folders of the nested modules
}

// publish packs HEAD as the newest version that has release notes. The module
// cache must not keep it: another commit may get the same version.
func publish(t *testing.T) release {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	notes, err := filepath.Glob(filepath.Join(root, "internal", "docs", "releases", "v*.md"))
	require.NoError(t, err)
	var version string
	for _, path := range notes {
		if v := strings.TrimSuffix(filepath.Base(path), ".md"); semver.Compare(v, version) > 0 {
			version = v
		}
	}
	require.True(t, semver.IsValid(version), "a version with release notes: %q", version)
	at, err := time.Parse(time.RFC3339, git(t, root, "show", "-s", "--format=%cI", "HEAD"))
	require.NoError(t, err)
	cache := strings.TrimSpace(string(run(t, ".", nil, "go", "env", "GOMODCACHE")))
	forget(t, cache, version)
	t.Cleanup(func() { forget(t, cache, version) })

	var packed bytes.Buffer
	packs := module.Version{Path: modulePath, Version: version}
	require.NoError(t, modzip.CreateFromVCS(&packed, packs, root, "HEAD", "")) // only committed files
	contents, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	require.NoError(t, err)
	var files []string
	for _, f := range contents.File {
		files = append(files, strings.TrimPrefix(f.Name, modulePath+"@"+version+"/"))
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": at.UTC()})
	require.NoError(t, err)

	dir := t.TempDir()
	versions := filepath.Join(dir, filepath.FromSlash(modulePath), "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))
	for name, body := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": info,
		version + ".mod":  []byte(git(t, root, "show", "HEAD:go.mod") + "\n"),
		version + ".zip":  packed.Bytes(),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), body, 0o644))
	}
	var nested []string
	for path := range strings.FieldsSeq(git(t, root, "ls-tree", "-r", "--name-only", "HEAD")) {
		if strings.HasSuffix(path, "/go.mod") {
			nested = append(nested, filepath.ToSlash(filepath.Dir(path)))
		}
	}
	return release{version: version, url: "file://" + filepath.ToSlash(dir), files: files, bytes: packed.Len(), nested: nested}
}

// forget takes the version out of the module cache, whose folders are
// read-only.
func forget(t *testing.T, cache, version string) {
	t.Helper()
	extracted := filepath.Join(cache, filepath.FromSlash(modulePath)+"@"+version)
	_ = filepath.WalkDir(extracted, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
	require.NoError(t, os.RemoveAll(extracted))
	stored, err := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(modulePath), "@v", version+".*"))
	require.NoError(t, err)
	for _, path := range stored {
		require.NoError(t, os.Remove(path))
	}
}

// env is the environment of a user who changed none of the go command's
// settings and has no workspace. The folder comes before the machine's own
// proxies. The checksum database does not have a commit that was never
// published.
func (r release) env(t *testing.T) []string {
	t.Helper()
	of := strings.Split(string(run(t, ".", nil, "go", "env", "GOPROXY", "GOSUMDB")), "\n")
	return append(os.Environ(), "GOENV=off", "GOFLAGS=", "GOWORK=off",
		"GOPROXY="+r.url+","+of[0], "GOSUMDB="+of[1], "GONOSUMDB="+modulePath,
		// Without goindex=0 go reads its index of the version that an earlier
		// commit published under the same number.
		"GODEBUG=goindex=0")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(string(run(t, dir, nil, "git", args...)))
}

// run returns what the command wrote to standard output. The error has what it
// wrote to standard error.
func run(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), stderr.String())
	return out
}
