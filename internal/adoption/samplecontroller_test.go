// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSampleController_PassesItsTests inserts the packages into
// k8s.io/sample-controller, generates its code with its own script, and runs
// its unit tests.
func TestSampleController_PassesItsTests(t *testing.T) {
	p := newProject(t, "sample-controller")
	require.NoError(t, os.CopyFS(p.dir, os.DirFS(moduleDir(t, ".", "k8s.io/sample-controller"))))
	p.insert("sample-controller.patch")
	p.adopt()

	// The script of the project needs the folder of code-generator. It compares
	// its report on names of fields with a file, or writes that file.
	p.env = append(p.env,
		"CODEGEN_PKG="+moduleDir(t, p.dir, "k8s.io/code-generator"), "GOBIN="+t.TempDir(),
		"API_KNOWN_VIOLATIONS_DIR="+t.TempDir(), "UPDATE_API_KNOWN_VIOLATIONS=true")
	p.run("bash", "hack/update-codegen.sh")
	p.run("go", "test", "-v", "-count=1", "-vet=off", ".")
}
