// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package plan_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden scripts")

// TestScript_IsTheGoldenOne: the scripts in testdata are what a person reads,
// and what the documentation links.
func TestScript_IsTheGoldenOne(t *testing.T) {
	for _, j := range journeys(t) {
		t.Run(j.name, func(t *testing.T) {
			file := filepath.Join("testdata", j.name+".sh")
			got := j.plan.String()
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "run go test -run TestScript_IsTheGoldenOne -update")
		})
	}
}

// TestScript_Shellcheck has no finding. internal/tools/shellcheck.sh fetches
// the program, and .ci/run calls that.
func TestScript_Shellcheck(t *testing.T) {
	checker, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed; internal/tools/shellcheck.sh fetches it, and .ci/run calls that")
	}
	for _, j := range journeys(t) {
		cmd := exec.CommandContext(t.Context(), checker, "-")
		cmd.Stdin = strings.NewReader(j.plan.String())
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s\n%s", j.name, out)
	}
}

// TestScript_RunsInEachShell that is installed: no line needs bash. None ends
// with spaces.
func TestScript_RunsInEachShell(t *testing.T) {
	for _, shell := range [][]string{{"sh"}, {"bash"}, {"dash"}, {"busybox", "sh"}} {
		eachJourney(t, func(c *cluster, j journey) {
			_, err := exec.LookPath(shell[0])
			if err != nil {
				c.Skipf("%s is not installed", shell[0])
			}
			c.shell = shell
			c.run(j.plan.String())
			assert.Equal(c, "5 pods of web:1", c.world().outcome()[j.new])
		})
	}
	for _, j := range journeys(t) {
		for number, line := range strings.Split(j.plan.String(), "\n") {
			assert.Equal(t, strings.TrimRight(line, " \t"), line, "line %d", number+1)
		}
	}
}
