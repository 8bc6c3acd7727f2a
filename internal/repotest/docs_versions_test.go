// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuides_NameTheTestedVersions: below its title each guide has the ranges
// of versions that the modules of the tests require, and README has each one.
func TestGuides_NameTheTestedVersions(t *testing.T) {
	files := tracked(t, "*.md", "*.mod", "internal/adoption/consumer/scaffold_test.go")
	minor := func(name, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindSubmatch(files[name])
		require.NotNil(t, m, "%s has no version that matches %s; correct this test", name, pattern)
		return string(m[1])
	}
	const clientGo, controllerRuntime, kubernetes = `k8s\.io/client-go (v\d+\.\d+)`, `sigs\.k8s\.io/controller-runtime (v\d+\.\d+)`, `k8s\.io/kubernetes (v\d+\.\d+)`
	want := fmt.Sprintf("Works with Go %s or newer, client-go %s to %s, controller-runtime %s to %s and Kubernetes %s to %s",
		minor("go.mod", `(?m)^go (\d+\.\d+)`),
		minor("go.mod", clientGo), minor("internal/compat/newest/go.mod", clientGo),
		minor("internal/adoption/consumer/scaffold_test.go", `var scaffolds = \[\]string\{"(v0\.\d+)`), minor("examples/controller-runtime/go.mod", controllerRuntime),
		minor("internal/controlplane/build/kubernetes/1.34.mod", kubernetes), minor("internal/controlplane/build/kubernetes/go.mod", kubernetes))

	guides := 0
	for name, body := range files {
		if !regexp.MustCompile(`^examples/(migrate/.*|operate/metrics)\.md$`).MatchString(name) {
			continue
		}
		guides++
		up := regexp.MustCompile(`[^/]+/`).ReplaceAllString(regexp.MustCompile(`[^/]+$`).ReplaceAllString(name, ""), "../")
		assert.Regexp(t, `^# [^\n]+\n\n`+regexp.QuoteMeta(want+" ([tested]("+up+"README.md#versions)).\n"), string(body), "%s: write this line below the title", name)
	}
	assert.Equal(t, 8, guides, "update the number of guides and pages in this test")
	for _, v := range regexp.MustCompile(`v[01]\.\d+`).FindAllString(want, -1) {
		assert.Contains(t, string(files["README.md"]), v, "README.md: add the version to the section Versions")
	}
}
