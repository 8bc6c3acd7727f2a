// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// question is about a Rollout. If it settles, it is about the pods of each
// version in the end.
type question struct {
	Rollout json.RawMessage `json:"rollout"`
	Settle  bool            `json:"settle"`
}

// verdict is why the Rollout is refused, empty if it is not, or the pods of
// each version.
type verdict struct {
	Refused        string
	Canary, Stable int32
}

// ask returns an answer to each question, of the code of Argo Rollouts in the
// versions that its controller is built with. The program is small, and asked
// 100,000 questions.
func ask(t *testing.T, questions []question) []verdict {
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
	verdicts := make([]verdict, len(questions))
	for i := range verdicts {
		require.NoError(t, answers.Decode(&verdicts[i]))
	}
	return verdicts
}
