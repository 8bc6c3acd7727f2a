// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused is the test of peers that package status fails on purpose. It has a
// condition without a reason, which a CRD refuses. SetCondition sets Unknown,
// and reports that.
const refused = "TestSetStatusCondition/nothing_changes"

// TestPeers_PassTheirTestsWithAWriter runs the tests of Flux's patch helper and
// of apimachinery's conditions against package status. The files in testdata
// take the place of the peers' code.
func TestPeers_PassTheirTestsWithAWriter(t *testing.T) {
	p := newProject(t, "peers")
	p.init("../bench", "example.com/peers")
	flux := moduleDir(t, "../bench", "github.com/fluxcd/pkg/runtime")
	p.take(filepath.Join(flux, "patch"), "patch")
	p.take(filepath.Join(flux, "conditions/testdata/crds"), "conditions/testdata/crds")
	require.NoError(t, os.Remove(filepath.Join(p.dir, "patch/patch.go")))
	p.insert("peers.patch")
	conditions := filepath.Join(moduleDir(t, "../bench", "k8s.io/apimachinery"), "pkg/api/meta/conditions_test.go")
	body, err := os.ReadFile(conditions)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "meta/conditions_test.go"), body, 0o600))
	p.require()
	p.run("go", "mod", "tidy")

	p.env = append(p.env, "KUBEBUILDER_ASSETS="+assets(t))
	out := p.run("sh", "-c", "go test -v -count=1 -vet=off ./... || true")
	passed := leaves(out, "PASS")
	failed := leaves(out, "FAIL")
	t.Logf("%d tests of peers pass, %d fail", len(passed), len(failed))
	assert.Contains(t, passed, "TestSerialPatcher/should_be_able_to_patch_object_consecutively")
	assert.Contains(t, passed, "TestIsStatusConditionPresentAndEqual/does-match-false")
	assert.Equal(t, []string{refused}, failed, "%s", out)
}

// init makes the folder a module with the versions of the one in dir. Its
// dependencies are then compiled already.
func (p project) init(dir, module string) {
	p.t.Helper()
	var requires []byte
	for _, name := range []string{"go.sum", "go.mod"} {
		var err error
		requires, err = os.ReadFile(filepath.Join(dir, name))
		require.NoError(p.t, err)
		require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), requires, 0o600))
	}
	edits := []string{"mod", "edit", "-module=" + module, "-droptool=k8s.io/sample-controller"}
	ours := regexp.MustCompile(regexp.QuoteMeta(modulePath)+`[\w/.-]*`).FindAllString(string(requires), -1)
	slices.Sort(ours)
	for _, path := range slices.Compact(ours) {
		edits = append(edits, "-dropreplace="+path, "-droprequire="+path)
	}
	p.run("go", edits...)
}

// take copies a folder of a module, whose files cannot be written.
func (p project) take(from, to string) {
	p.t.Helper()
	require.NoError(p.t, os.CopyFS(filepath.Join(p.dir, to), os.DirFS(from)))
	p.run("chmod", "-R", "u+w", to)
}

// leaves are the tests without subtests that had a result.
func leaves(output, result string) []string {
	all := regexp.MustCompile(`(?m)^ *--- \w+: (.+) \(`).FindAllStringSubmatch(output, -1)
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^ *--- `+result+`: (.+) \(`).FindAllStringSubmatch(output, -1) {
		hasMore := slices.ContainsFunc(all, func(other []string) bool { return strings.HasPrefix(other[1], m[1]+"/") })
		if !hasMore {
			names = append(names, m[1])
		}
	}
	return names
}
