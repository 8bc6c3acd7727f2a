// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// oracle is a process that answers with the code of Argo Rollouts itself, in the versions that its controller is built with.
type oracle struct {
	in  io.Writer
	out *json.Decoder
}

type verdict struct {
	Refused        string
	Canary, Stable int32
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), oraclePath) // ends when its input does
	cmd.Env = append(os.Environ(), "GOGC=400")                                 // it is small, and asked 100,000 times
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &oracle{in: stdin, out: json.NewDecoder(bufio.NewReader(stdout))}
}

// ask is one question, about a Rollout in one line of JSON, and its answer.
func (o *oracle) ask(rollout []byte, settle bool) (v verdict, err error) {
	if _, err := fmt.Fprintf(o.in, "{\"settle\":%t,\"rollout\":%s}\n", settle, rollout); err != nil {
		return v, err
	}
	return v, o.out.Decode(&v)
}
