// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPublic_PassesItsTestsWithAndWithout inserts the packages into controllers
// that others maintain, and runs their tests. Then it takes the lines out
// again, and the same tests pass: the versions stay, so that their dependencies
// are compiled once. A patch adds one test and changes none.
func TestPublic_PassesItsTestsWithAndWithout(t *testing.T) {
	check := tool(t, ".", "check", "./consumer/check") // the programs compile for minutes
	for patch, public := range map[string]struct {
		folders map[string]string // the modules that are in the project's repository
		suite   []string          // the packages whose tests need no cluster
		adds    string
	}{
		"agent-sandbox": {
			map[string]string{".": "sigs.k8s.io/agent-sandbox"},
			[]string{"./controllers", "./extensions/controllers"},
			"TestAdopted",
		},
		"external-snapshotter": {
			map[string]string{
				".":      "github.com/kubernetes-csi/external-snapshotter/v8",
				"client": "github.com/kubernetes-csi/external-snapshotter/client/v8",
			},
			[]string{"./pkg/common-controller", "./pkg/sidecar-controller"},
			"TestRunWritesWhatItsWorkersRecorded",
		},
	} {
		t.Run(patch, func(t *testing.T) {
			p := newProject(t, patch)
			for folder, module := range public.folders {
				p.take(p.download(module), folder)
			}
			requires := p.lines("go.mod")
			sums := p.lines("go.sum")
			p.insert(patch + ".patch")
			p.adopt()
			assert.Equal(t, requires+1, p.lines("go.mod"), "README: one more line")
			assert.Equal(t, sums+2, p.lines("go.sum"), "two more lines, of a module of controllerkit's own tests")
			p.run(check, "./cmd/...")
			with := p.passed(public.suite)
			require.Greater(t, len(with), 20, "the project's tests ran")

			p.takeOut(patch + ".patch")
			without := p.passed(public.suite)
			assert.ElementsMatch(t, append(without, public.adds), with)
			t.Logf("%d tests pass with the packages and without", len(without))
		})
	}
}

// passed runs the tests of the packages and lists the ones with a PASS. If one
// fails, the test ends.
func (p project) passed(packages []string) []string {
	p.t.Helper()
	test := []string{"test", "-v", "-count=1", "-vet=off"}
	return leaves(p.run("go", append(test, packages...)...), "PASS")
}

// lines counts the lines of a go.mod or go.sum that name a version of a module.
func (p project) lines(file string) int {
	p.t.Helper()
	body, err := os.ReadFile(filepath.Join(p.dir, file))
	require.NoError(p.t, err)
	return len(regexp.MustCompile(`(?m)^\t?\w\S*\.\S* v\S+`).FindAll(body, -1))
}

// takeOut takes the lines of a patch out again. go.mod and go.sum stay as adopt
// has written them.
func (p project) takeOut(file string) {
	p.t.Helper()
	patch, err := filepath.Abs(filepath.Join("testdata", file))
	require.NoError(p.t, err)
	p.run("git", "apply", "--reverse", patch)
}

// download returns the folder of a module in the module cache, in the version
// and with the sum of testdata/public.sum.
func (p project) download(module string) string {
	p.t.Helper()
	sums, err := os.ReadFile("testdata/public.sum")
	require.NoError(p.t, err)
	pin := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(module) + ` (\S+) (\S+)$`).FindSubmatch(sums)
	require.NotNil(p.t, pin, "testdata/public.sum has no line for %s; add its version and sum", module)
	var got struct{ Dir, Sum string }
	answer := p.run("go", "mod", "download", "-json", module+"@"+string(pin[1]))
	require.NoError(p.t, json.Unmarshal([]byte(answer), &got))
	require.Equal(p.t, string(pin[2]), got.Sum, "the sum of %s %s", module, pin[1])
	return got.Dir
}
