// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestModules_OfTheTestsRequireTheSameVersions: two versions of a module that
// all the others import, such as golang.org/x/net, make a cold run compile most
// packages twice.
func TestModules_OfTheTestsRequireTheSameVersions(t *testing.T) {
	nested := regexp.MustCompile(`(?s)\nNESTED +:= (.*?)\n[^\t]`).FindStringSubmatch(read(t, "Makefile"))
	require.NotNil(t, nested, "the Makefile has no list NESTED; correct this test")
	modules := regexp.MustCompile(`[a-z0-9-]+(/[a-z0-9-]+)+`).FindAllString(nested[1], -1)
	require.Contains(t, modules, "internal/compat/newest", "this test no longer finds the modules of NESTED; fix its pattern")
	files, seen := tracked(t, "*go.mod"), map[string]string{}
	for _, m := range modules {
		name := m + "/go.mod"
		require.NotEmpty(t, files[name], "%s does not exist; delete the module from the Makefile's NESTED", name)
		for _, require := range regexp.MustCompile(`(?m)^(?:require |\t)([a-z]\S*\.\S+) (v\S+)(?: // indirect)?$`).FindAllStringSubmatch(string(files[name]), -1) {
			path, here := require[1], require[2]+" in "+name
			if there, found := seen[path]; found {
				assert.Equal(t, there[:len(require[2])], require[2], "%s is %s and %s; run go get of the higher one in the other module", path, there, here)
			}
			seen[path] = here
		}
	}
	assert.Greater(t, len(seen), 50, "this test no longer finds the requirements; fix its pattern")
	for _, path := range []string{"k8s.io/client-go", "go.opentelemetry.io/otel", "github.com/prometheus/client_golang", "github.com/stretchr/testify"} {
		version, _, _ := strings.Cut(seen[path], " in ")
		assert.NotContains(t, string(files["go.mod"]), path+" "+version, "make test would test what make test-floor tests")
	}
}

// TestMakefile_LongTestsExist: make e2e leaves these tests to make test-all.
// After a rename the list would no longer say which tests it leaves out.
func TestMakefile_LongTestsExist(t *testing.T) {
	var long []string
	for _, line := range regexp.MustCompile(`(?m)^LONG +:= (\S+)$`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		names := strings.TrimPrefix(line[1], "$(LONG)|")
		long = append(long, strings.Split(names, "|")...)
	}
	require.NotEmpty(t, long, "the Makefile has no list LONG; correct this test")
	var all strings.Builder
	for _, body := range tracked(t, "internal/e2e/*_test.go", "internal/e2e/status/*_test.go", "internal/e2e/events/*_test.go", "internal/e2e/jobgc/*_test.go") {
		all.Write(body)
	}
	for _, name := range long {
		assert.Contains(t, all.String(), "\nfunc "+name+"(t *testing.T) {", "Makefile: LONG names a test that does not exist; correct the name")
	}
}
