// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKubebuilder_ScaffoldPassesItsEnvtestSuite scaffolds a project with the
// controller-runtime of last year, inserts the packages, and runs the targets
// and the tests that kubebuilder scaffolds. `make test` of the scaffold does
// the same, except that it downloads etcd and the API server.
func TestKubebuilder_ScaffoldPassesItsEnvtestSuite(t *testing.T) {
	kubebuilder := tool(t, filepath.Join("..", "tools"), "kubebuilder", "sigs.k8s.io/kubebuilder/v4")
	p := newProject(t, "backup")
	p.run(kubebuilder, "init", "--skip-go-version-check", "--domain=example.com", "--repo=example.com/backup")
	p.run(kubebuilder, "create", "api", "--group=ops", "--version=v1", "--kind=Backup", "--resource", "--controller", "--make=false")

	p.insert("kubebuilder.patch")
	p.adopt()
	versions := p.kubernetes()
	require.True(t, strings.HasPrefix(versions["sigs.k8s.io/controller-runtime"], "v0.22."), "kubebuilder v4.10 scaffolds controller-runtime v0.22: %v", versions)

	p.run("make", "manifests", "generate", "fmt")
	p.run("go", "build", "./...")
	packages := strings.Fields(p.run("go", "list", "./..."))
	suite := []string{"test", "-v", "-count=1", "-vet=off"} // vet would compile for minutes to judge their code
	for _, name := range packages {
		if !strings.Contains(name, "/e2e") { // needs a cluster with containers
			suite = append(suite, name)
		}
	}
	p.env = append(p.env, "KUBEBUILDER_ASSETS="+assets(t), "GINKGO_NO_COLOR=true",
		"KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m", "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=2m")
	out := p.run("go", suite...)
	assert.Contains(t, out, "Ran 2 of 2 Specs", "the scaffold's own spec and the one in testdata ran")
}
