// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
