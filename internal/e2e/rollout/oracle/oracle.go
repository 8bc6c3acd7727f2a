// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle asks the code of Argo Rollouts about Rollouts, in the versions
// that its controller is built with.
package oracle

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// Question is about a Rollout. If it settles, it is about the pods of each
// version in the end.
type Question struct {
	Rollout json.RawMessage `json:"rollout"`
	Settle  bool            `json:"settle"`
}

// Verdict is why the Rollout is refused, empty if it is not, or the pods of
// each version.
type Verdict struct {
	Refused        string
	Canary, Stable int32
}

// Ask returns an answer to each question. The program is small, and asked
// 100,000 questions.
func Ask(t *testing.T, questions []Question) []Verdict {
	t.Helper()
	options := build.Options{Log: os.Stderr, More: []string{build.ArgoOracle}}
	programs, err := build.Ensure(t.Context(), options)
	require.NoError(t, err)
	var in bytes.Buffer
	out := json.NewEncoder(&in)
	for _, q := range questions {
		require.NoError(t, out.Encode(q))
	}
	cmd := exec.CommandContext(t.Context(), programs[build.ArgoOracle])
	cmd.Env = append(os.Environ(), "GOGC=400")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	said, err := cmd.Output()
	require.NoError(t, err)
	answers := json.NewDecoder(bytes.NewReader(said))
	verdicts := make([]Verdict, len(questions))
	for i := range verdicts {
		require.NoError(t, answers.Decode(&verdicts[i]))
	}
	return verdicts
}

// Table is the table of bad Rollouts in a test of package rollout.
type Table struct {
	Base json.RawMessage
	Rows map[string]struct {
		Patch   json.RawMessage // a merge patch of Base
		Refused bool            // by Convert, and not as a warning
	}
}

// Golden reads the file that this test has written, in the module at root.
func Golden(t *testing.T, root string) (table Table) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "rollout", "testdata", "badrollouts.golden.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &table))
	require.NotEmpty(t, table.Rows)
	return table
}
