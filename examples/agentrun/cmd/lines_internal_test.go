// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEachPackageAddsFewLinesToAScaffold counts the lines that end in a mark
// such as +status. Imports, error checks and closing braces have no mark, nor
// has the controller's own logic: phases, conditions and the Job.
//
//req:shows A2
func TestEachPackageAddsFewLinesToAScaffold(t *testing.T) {
	most := map[string]int{"status": 12, "events": 8, "jobgc": 8, "metrics": 8, "metrics/kube": 8, "manager": 3}
	mark := regexp.MustCompile(`(?m)\S +// \+([a-z/]+)$`)
	added := map[string]int{}
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		body, err := os.ReadFile(path)
		for _, m := range mark.FindAllSubmatch(body, -1) {
			added[string(m[1])]++
		}
		return err
	}))
	t.Log(added)
	assert.Equal(t, slices.Sorted(maps.Keys(most)), slices.Sorted(maps.Keys(added)))
	for name, n := range added {
		assert.LessOrEqual(t, n, most[name], name)
	}
}

// TestTheReconcileIsShort: each of its two functions fits on a screen.
//
//req:shows A2
func TestTheReconcileIsShort(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("..", "controller", "reconcile.go"))
	require.NoError(t, err)
	for _, name := range []string{"Reconcile", "advance"} {
		function := regexp.MustCompile(`(?ms)^func \(r \*Reconciler\) ` + name + `\(.*?^}$`).Find(body)
		require.NotEmpty(t, function)
		assert.LessOrEqual(t, strings.Count(string(function), "\n")+1, 60, name)
	}
}
