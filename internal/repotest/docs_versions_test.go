// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// TestFigures_AreThoseOfTheCitedPage: each number of a paragraph that cites
// measurements is in them. Versions, code and links are not numbers of it.
func TestFigures_AreThoseOfTheCitedPage(t *testing.T) {
	cited := 0
	link := regexp.MustCompile(`\]\([^)]*?(internal/docs/evidence|internal/bench/RESULTS)\.md[^)]*\)`)
	other := regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|\\bv\\d[\\d.]*")
	number := regexp.MustCompile(`\d+(?:[,.]\d+)*`)
	for name, body := range tracked(t, "examples/*.md") {
		for paragraph := range strings.SplitSeq(strings.ReplaceAll(string(body), "\n- ", "\n\n- "), "\n\n") {
			m := link.FindStringSubmatch(paragraph)
			if m == nil {
				continue
			}
			cited++
			measured := number.FindAllString(read(t, m[1]+".md"), -1)
			for _, n := range number.FindAllString(other.ReplaceAllString(paragraph, ""), -1) {
				assert.True(t, slices.Contains(measured, n), "%s: %s.md has no %s; correct the figure, or leave it out:\n%s", name, m[1], n, paragraph)
			}
		}
	}
	assert.Greater(t, cited, 3, "this test no longer finds the citations; fix its pattern")
}
