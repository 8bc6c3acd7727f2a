// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package consumer_test

import (
	"cmp"
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "rewrite README's table")

// scaffolds are the minors of controller-runtime that kubebuilder scaffolds.
var scaffolds = []string{"v0.22.4", "v0.23.3", "v0.24.1", "v0.25.2"}

// TestScaffold_KeepsItsKubernetesVersions takes all packages into kubebuilder's
// scaffolds, where they compile. README's table has what rises.
func TestScaffold_KeepsItsKubernetesVersions(t *testing.T) {
	r := publish(t)
	head, raises := "| scaffold on controller-runtime |", "| `go get` raises |"
	// What kubebuilder's main.go and its tests import.
	imports := []string{
		"github.com/onsi/ginkgo/v2", "github.com/onsi/gomega", "k8s.io/client-go/plugin/pkg/client/auth",
		"sigs.k8s.io/controller-runtime", "sigs.k8s.io/controller-runtime/pkg/envtest",
		"sigs.k8s.io/controller-runtime/pkg/metrics/filters",
	}
	for _, version := range scaffolds {
		a := adopter{imports, []string{"sigs.k8s.io/controller-runtime@" + version}}
		raised := a.take(t, r, everyPackage())
		for _, m := range raised {
			assert.NotContains(t, m, "k8s.io/", "controller-runtime %s: go.mod requires a version that is too high", version)
		}
		head += " " + version + " |"
		raises += " " + families(raised) + " |"
	}
	table := head + "\n" + strings.Repeat("|---", len(scaffolds)+1) + "|\n" + raises + "\n"

	const page, mark = "../../../README.md", "-run TestScaffold -update -->\n"
	above, rest, found := strings.Cut(read(t, ".", page), mark)
	require.True(t, found, "README.md has no line that ends with %q", mark)
	got, tail, found := strings.Cut(rest, "<!-- end -->")
	require.True(t, found, "README.md: no <!-- end --> after the table")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(above+mark+table+"<!-- end -->"+tail), 0o644))
		return
	}
	assert.Equal(t, table, got, "README.md: what rises has changed; cd internal/adoption/consumer && go test -run TestScaffold -update . writes the table")
}

// families counts the modules of each owner in a list of changed modules.
func families(raised []string) string {
	owner := regexp.MustCompile(`^(golang\.org/x|go\.opentelemetry\.io|github\.com/[^/]+|[^/]+/[^/ ]+)`)
	count := map[string]int{}
	for _, m := range raised {
		count[owner.FindString(m)]++
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		text := "`" + name + "`"
		if count[name] > 1 {
			text += fmt.Sprintf(" (%d)", count[name])
		}
		all = append(all, text)
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// TestExample_CompilesWithTheLowestVersions takes the example for
// controller-runtime, without its tests, into a module with the oldest Go and
// controller-runtime that README names.
func TestExample_CompilesWithTheLowestVersions(t *testing.T) {
	r := publish(t)
	env, dir := r.env(t), t.TempDir()
	const name = "examples/controller-runtime"
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("../../..", name))))
	run(t, dir, nil, "find", ".", "(", "-name", "go.*", "-o", "-name", "*_test.go", ")", "-delete")
	oldest := regexp.MustCompile(`(?m)^go (1\.\d+\.\d+)$`).FindStringSubmatch(read(t, "../../..", "go.mod"))
	require.NotNil(t, oldest, "go.mod has a line such as go 1.25.0")
	run(t, dir, env, "go", "mod", "init", modulePath+"/"+name)
	run(t, dir, env, "go", "mod", "edit", "-go="+oldest[1])
	run(t, dir, env, "go", "get", "sigs.k8s.io/controller-runtime@"+scaffolds[0], modulePath+"@"+r.version)
	run(t, dir, env, "go", "mod", "tidy")
	body := read(t, dir, "go.mod")
	assert.Contains(t, body, "\ngo "+oldest[1]+"\n", "a dependency of the example needs a newer Go")
	assert.Equal(t, scaffolds[0], versions(body)["sigs.k8s.io/controller-runtime"])
	check(t, dir, append(env, "GOTOOLCHAIN=go"+oldest[1]), "./...")
}
