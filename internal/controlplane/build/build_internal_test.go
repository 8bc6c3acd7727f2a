// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeyChangesWithEveryInput(t *testing.T) {
	base := func() inputs {
		return inputs{
			platform: "linux/amd64",
			modules:  []module{{mod: []byte("require k8s.io/kubernetes v1.36.3\n"), sum: []byte("sum"), goVersion: "go1.26.8"}},
		}
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*inputs){
		"Nothing":   func(*inputs) {},
		"GoVersion": func(in *inputs) { in.modules[0].goVersion = "go1.26.9" },
		"Platform":  func(in *inputs) { in.platform = "linux/arm64" },
		"Mod":       func(in *inputs) { in.modules[0].mod = []byte("require k8s.io/kubernetes v1.36.4\n") },
		"Sum":       func(in *inputs) { in.modules[0].sum = []byte("other") },
		"Boundary": func(in *inputs) {
			in.modules[0].mod = []byte("require k8s.io/kubernetes v1.36.3\ns")
			in.modules[0].sum = []byte("um")
		},
		"Source": func(in *inputs) { in.modules[0].sources = [][]byte{[]byte("package main")} },
		"Module": func(in *inputs) { in.modules = append(in.modules, module{}) },
	} {
		in := base()
		change(&in)
		key := in.key()
		assert.Len(t, key, 16)
		assert.NotContains(t, seen, key, "%s and %s share a key", name, seen[key])
		seen[key] = name
	}
	again := base()
	assert.Equal(t, "Nothing", seen[again.key()], "equal inputs, equal key")
}

func TestModulesOfThisCheckoutAreFound(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir, err := locate(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, here, dir)
	for _, minor := range []string{"1.34", "1.35", "1.36"} { // what make skew asks for
		list := programs()
		require.NoError(t, ofVersion(minor, list))
		m, err := readModule(dir, list[1].module)
		require.NoError(t, err)
		assert.Contains(t, m.kubernetesVersion(), "v"+minor+".")
	}

	t.Chdir(t.TempDir())
	_, err = locate(t.Context(), "")
	require.ErrorContains(t, err, parent)
	assert.ErrorContains(t, err, assetsVariable, "the error names the way out")
}

func TestStepBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		require.NoError(t, progress{&log}.step("step 2 of 4: kube-apiserver", func() error {
			<-time.After(2*heartbeat + time.Second)
			return nil
		}))
		assert.Equal(t, []string{
			"control plane: step 2 of 4: kube-apiserver",
			"control plane: step 2 of 4: kube-apiserver: still building, 15s so far",
			"control plane: step 2 of 4: kube-apiserver: still building, 30s so far",
			"control plane: step 2 of 4: kube-apiserver: built in 31s",
		}, strings.Split(strings.TrimSpace(log.String()), "\n"))
	})
}

func TestPruneRemovesOldEntriesOnly(t *testing.T) {
	root := t.TempDir()
	old := time.Now().Add(-unusedAfter - time.Hour)
	for name, age := range map[string]time.Time{"old": old, "new": time.Now(), "this": old} {
		path := filepath.Join(root, name)
		require.NoError(t, os.Mkdir(path, 0o755))
		require.NoError(t, os.Chtimes(path, age, age))
	}
	require.NoError(t, (&entry{dir: filepath.Join(root, "this")}).prune())
	assert.NoDirExists(t, filepath.Join(root, "old"))
	assert.DirExists(t, filepath.Join(root, "new"))
	assert.DirExists(t, filepath.Join(root, "this"))
}
