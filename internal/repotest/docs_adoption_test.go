// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdoption_ReadmeCountsTheLinesOfThePatches that make adoption inserts into
// the projects of others, without the tests that they add.
func TestAdoption_ReadmeCountsTheLinesOfThePatches(t *testing.T) {
	const folder = "internal/adoption/testdata/"
	sums := read(t, folder+"public.sum")
	bullet := "- **Two projects** pass their own tests with it. go.mod gets a line, and indirect versions may rise.\n"
	for _, p := range []struct{ name, module string }{
		{"agent-sandbox", "sigs.k8s.io/agent-sandbox"},
		{"external-snapshotter", "github.com/kubernetes-csi/external-snapshotter/v8"},
	} {
		pin := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(p.module) + ` (\S+) `).FindStringSubmatch(sums)
		require.NotNil(t, pin, "%spublic.sum has no line for %s", folder, p.module)
		path := folder + p.name + ".patch"
		packages, added, removed := countPatch(read(t, path))
		bullet += fmt.Sprintf("  [%s](%s) %s takes %s: %d lines added, %d removed.\n",
			p.name, path, pin[1], strings.Join(packages, " and "), added, removed)
	}
	generated(t, "README.md", "-run TestAdoption -update -->\n", bullet)
}

// countPatch counts the lines that a patch adds to a project and removes from
// it, without tests, and lists the packages that the new lines import.
func countPatch(patch string) (packages []string, added, removed int) {
	_, files, _ := strings.Cut(patch, "\ndiff --git ")
	for file := range strings.SplitSeq(files, "\ndiff --git ") {
		name, body, _ := strings.Cut(file, "\n@@")
		name, _, _ = strings.Cut(name, "\n")
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for line := range strings.Lines(body) {
			switch line[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
		for _, m := range regexp.MustCompile(`\n\+\t"github\.com/proompteng/controllerkit/([^"]+)"`).FindAllStringSubmatch(body, -1) {
			packages = append(packages, "`"+m[1]+"`")
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages), added, removed
}
