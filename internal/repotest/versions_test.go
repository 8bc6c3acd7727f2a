// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuides_NameTheTestedVersions: below its title each guide has the ranges
// of versions that the modules of the tests require, and README has each one.
func TestGuides_NameTheTestedVersions(t *testing.T) {
	files := tracked(t, "*.md", "*.mod", "internal/consumer/versions_test.go")
	minor := func(name, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindSubmatch(files[name])
		require.NotNil(t, m, "%s does not match %s", name, pattern)
		return string(m[1])
	}
	const clientGo, controllerRuntime, kubernetes = `k8s\.io/client-go (v\d+\.\d+)`, `sigs\.k8s\.io/controller-runtime (v\d+\.\d+)`, `k8s\.io/kubernetes (v\d+\.\d+)`
	want := fmt.Sprintf("Works with Go %s or newer, client-go %s to %s, controller-runtime %s to %s and Kubernetes %s to %s",
		minor("go.mod", `(?m)^go (\d+\.\d+)`),
		minor("go.mod", clientGo), minor("internal/compat/newest/go.mod", clientGo),
		minor("internal/consumer/versions_test.go", `(?s)var projects = .*?"(v0\.\d+)\.\d+", ""\},`), minor("examples/controller-runtime/go.mod", controllerRuntime),
		minor("internal/controlplane/build/kubernetes/1.34.mod", kubernetes), minor("internal/controlplane/build/kubernetes/go.mod", kubernetes))

	guides := 0
	for name, body := range files {
		if !regexp.MustCompile(`^examples/(migrate/.*|operate/metrics)\.md$`).MatchString(name) {
			continue
		}
		guides++
		up := regexp.MustCompile(`[^/]+/`).ReplaceAllString(regexp.MustCompile(`[^/]+$`).ReplaceAllString(name, ""), "../")
		assert.Regexp(t, `^# [^\n]+\n\n`+regexp.QuoteMeta(want+" ([tested]("+up+"README.md#versions)).\n"), string(body), name)
	}
	assert.Equal(t, 7, guides)
	for _, v := range regexp.MustCompile(`v[01]\.\d+`).FindAllString(want, -1) {
		assert.Contains(t, string(files["README.md"]), v, "README's table of versions")
	}
}

// TestModules_OfTheTestsRequireTheSameVersions: two versions of a module that
// all the others import, such as golang.org/x/net, make a cold run compile most
// packages twice.
func TestModules_OfTheTestsRequireTheSameVersions(t *testing.T) {
	nested := regexp.MustCompile(`(?s)\nNESTED +:= (.*?)\n[^\t]`).FindStringSubmatch(read(t, "Makefile"))
	require.NotNil(t, nested)
	modules := regexp.MustCompile(`[a-z0-9-]+(/[a-z0-9-]+)+`).FindAllString(nested[1], -1)
	require.Contains(t, modules, "internal/compat/newest")
	files, seen := tracked(t, "*go.mod"), map[string]string{}
	for _, m := range modules {
		name := m + "/go.mod"
		require.NotEmpty(t, files[name], name)
		for _, require := range regexp.MustCompile(`(?m)^(?:require |\t)([a-z]\S*\.\S+) (v\S+)(?: // indirect)?$`).FindAllStringSubmatch(string(files[name]), -1) {
			path, here := require[1], require[2]+" in "+name
			if there, found := seen[path]; found {
				assert.Equal(t, there[:len(require[2])], require[2], "%s is %s and %s", path, there, here)
			}
			seen[path] = here
		}
	}
	assert.Greater(t, len(seen), 50)
}

// TestMakefile_LongTestsExist: make e2e leaves these tests to make test-all.
// After a rename the list would no longer say which tests it leaves out.
func TestMakefile_LongTestsExist(t *testing.T) {
	var long []string
	for _, line := range regexp.MustCompile(`(?m)^LONG +:= (\S+)$`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		names := strings.TrimPrefix(line[1], "$(LONG)|")
		long = append(long, strings.Split(names, "|")...)
	}
	require.NotEmpty(t, long)
	var all strings.Builder
	for _, body := range tracked(t, "internal/e2e/*_test.go", "internal/e2e/status/*_test.go", "internal/e2e/events/*_test.go", "internal/e2e/jobgc/*_test.go") {
		all.Write(body)
	}
	for _, name := range long {
		assert.Contains(t, all.String(), "\nfunc "+name+"(t *testing.T) {", "the Makefile's LONG")
	}
}
