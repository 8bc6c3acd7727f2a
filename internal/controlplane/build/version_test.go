// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

func TestEnsureTakesTheVersionThatIsAskedFor(t *testing.T) {
	src := source(t)
	usual, _, err := ensure(t, src)
	require.NoError(t, err)

	t.Setenv("CONTROLLERKIT_KUBERNETES", "1.36")
	same, log, err := ensure(t, src)
	require.NoError(t, err)
	assert.Empty(t, log, "the default version is built already")
	assert.Equal(t, usual, same)

	t.Setenv("CONTROLLERKIT_KUBERNETES", "1.35")
	older, log, err := ensure(t, src)
	require.NoError(t, err)
	assert.Contains(t, log, "building 3 programs from source")
	assert.Equal(t, usual[build.Etcd], older[build.Etcd], "etcd has its own version")
	for _, name := range []string{build.APIServer, build.ControllerManager, build.Kubectl} {
		out, err := exec.CommandContext(t.Context(), older[name]).CombinedOutput()
		require.NoError(t, err)
		assert.Equal(t, "v1.35.0 1 35\n", string(out), name)
		assert.FileExists(t, usual[name], "the programs of the default version stay")
		assert.NotEqual(t, filepath.Dir(usual[name]), filepath.Dir(older[name]), name)
	}
}

func TestEnsureRefusesAVersionThatItCannotPromise(t *testing.T) {
	src := source(t)
	cases := map[string]struct {
		reason        string
		minor, assets string
		wants         []string
	}{
		"Unknown": {reason: "The error lists the accepted versions.", minor: "1.33", wants: []string{"CONTROLLERKIT_KUBERNETES", `"1.33"`, "1.35 or 1.36"}},
		"Path":    {reason: "A minor version, not a part of a path.", minor: "../1.36", wants: []string{"1.35 or 1.36"}},
		"Assets": {
			reason: "The version of the programs in KUBEBUILDER_ASSETS is unknown.", minor: "1.35", assets: os.TempDir(),
			wants: []string{"CONTROLLERKIT_KUBERNETES=1.35", "KUBEBUILDER_ASSETS", "unset one"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CONTROLLERKIT_KUBERNETES", tc.minor)
			t.Setenv("KUBEBUILDER_ASSETS", tc.assets)
			_, _, err := ensure(t, src)
			for _, want := range tc.wants {
				assert.ErrorContains(t, err, want, tc.reason)
			}
		})
	}
}
