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

func TestFlagsCarryTheVersionThatIsRequired(t *testing.T) {
	cases := map[string]struct {
		reason string
		mod    string
		want   string
	}{
		"Block": {
			reason: "The usual form.",
			mod:    "require (\n\tgithub.com/a/b v1.0.0\n\tk8s.io/kubernetes v1.36.3\n)\n",
			want:   "gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36",
		},
		"Line":       {reason: "The short form.", mod: "require k8s.io/kubernetes v1.35.0\n", want: "gitMinor=35"},
		"Prerelease": {reason: "The whole version counts.", mod: "require k8s.io/kubernetes v1.37.0-rc.1\n", want: "gitVersion=v1.37.0-rc.1 "},
		"Other":      {reason: "etcd takes no version from flags.", mod: "require go.etcd.io/etcd/server/v3 v3.6.8\n", want: "-s -w"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			flags := module{mod: []byte(tc.mod)}.flags()
			assert.Contains(t, flags[len(flags)-1], tc.want, tc.reason)
		})
	}
}

func TestModulesOfThisCheckoutAreFound(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir, err := locate(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, here, dir)

	modules, err := versions(dir)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"1.34": "kubernetes-1.34", "1.35": "kubernetes-1.35", "1.36": "kubernetes"}, modules, "what make skew asks for")

	dir, err = askGo(t.Context()) // as where the paths of sources were trimmed
	require.NoError(t, err)
	assert.Equal(t, here, dir)

	t.Chdir(t.TempDir())
	_, err = askGo(t.Context())
	require.ErrorContains(t, err, parent)
	assert.ErrorContains(t, err, assetsVariable, "the error names the way out")
}

func TestEstimate(t *testing.T) {
	cases := map[string]struct {
		reason   string
		programs []program
		cores    int
		want     string
	}{
		"All":      {reason: "The table holds seconds on two cores.", programs: programs(), cores: 2, want: "5 min"},
		"OneCore":  {reason: "Half the cores, twice the time.", programs: programs(), cores: 1, want: "9 min"},
		"Many":     {reason: "Linking does not get faster.", programs: programs(), cores: 64, want: "2 min"},
		"EtcdOnly": {reason: "Short times are in seconds.", programs: programs()[:1], cores: 2, want: "35 s"},
		"None":     {reason: "Nothing divides by zero.", programs: nil, cores: 0, want: "1 s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, estimate(tc.programs, tc.cores), tc.reason) })
	}
}

func TestStepBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newProgress(&log).step(2, 4, "kube-apiserver")
		<-time.After(2*heartbeat + time.Second)
		s.end(nil)
		assert.Equal(t, []string{
			"control plane: step 2 of 4: kube-apiserver",
			"control plane: step 2 of 4: kube-apiserver: still building, 15 s so far",
			"control plane: step 2 of 4: kube-apiserver: still building, 30 s so far",
			"control plane: step 2 of 4: kube-apiserver: built in 31 s",
		}, strings.Split(strings.TrimSpace(log.String()), "\n"))
	})
}

func TestPruneRemovesOldEntriesOnly(t *testing.T) {
	root := t.TempDir()
	old := time.Now().Add(-unusedAfter - time.Hour)
	mkdir := func(name string, age time.Time) {
		path := filepath.Join(root, name)
		require.NoError(t, os.Mkdir(path, 0o755))
		require.NoError(t, os.Chtimes(path, age, age))
	}
	mkdir("00112233445566aa", old)
	mkdir("00112233445566bb", time.Now())
	mkdir("00112233445566cc", old) // this one
	mkdir("not-an-entry", old)
	require.NoError(t, (&entry{dir: filepath.Join(root, "00112233445566cc")}).prune())
	left, err := filepath.Glob(filepath.Join(root, "*"))
	require.NoError(t, err)
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	assert.ElementsMatch(t, []string{"00112233445566bb", "00112233445566cc", "not-an-entry"}, left)
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{"-trimpath": "-trimpath", "-s -w": "'-s -w'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		assert.Equal(t, want, quote(word))
	}
}

func TestFirstError(t *testing.T) {
	cases := map[string]struct {
		reason string
		output string
		want   string
	}{
		"Compiler": {"The line with the package's name has no error.", "# a/b\nb.go:1:2: undefined: x\nb.go:2:1: y\n", "b.go:1:2: undefined: x"},
		"Download": {"A download is not an error.", "go: downloading a v1\ngo: a@v1: not found\n", "go: a@v1: not found"},
		"Heading":  {"A heading needs the line below it.", "go: errors parsing go.mod:\ngo.mod:1: unknown directive\n", "go: errors parsing go.mod: go.mod:1: unknown directive"},
		"Empty":    {"A build without output fails with a text too.", "", "it printed nothing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, firstError([]byte(tc.output)), tc.reason) })
	}
}
