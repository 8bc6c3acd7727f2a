// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestInsert_InACheckout: git apply skips the paths outside its folder in the
// repository around it, without an error. So it must not find one.
func TestInsert_InACheckout(t *testing.T) {
	p := newProject(t, "runs")
	project{t: t, dir: filepath.Dir(p.dir), env: environment()}.run("git", "init", "--quiet")
	p.insert("generators.patch")
	assert.FileExists(t, filepath.Join(p.dir, "header.txt"))
}
