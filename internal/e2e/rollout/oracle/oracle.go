// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle asks the code of Argo Rollouts about Rollouts, in the versions
// that its controller is built with.
package oracle

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

// Oracle is a running process. One goroutine may ask while another reads
// answers.
type Oracle struct {
	in  *bufio.Writer
	out *json.Decoder
}

// Verdict is why the Rollout is refused, empty if it is not; to a question that
// settles, the pods of each version in the end.
type Verdict struct {
	Refused        string
	Canary, Stable int32
}

// Start runs the program until the test ends.
func Start(t *testing.T, program string) *Oracle {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program) // ends when its input does
	cmd.Env = append(os.Environ(), "GOGC=400")                              // it is small, and asked 100,000 times
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
	return &Oracle{in: bufio.NewWriterSize(stdin, 32<<10), out: json.NewDecoder(stdout)}
}

// Ask is one question and its answer.
func (o *Oracle) Ask(rollout []byte, settle bool) (Verdict, error) {
	if err := o.Say(rollout, settle); err != nil {
		return Verdict{}, err
	}
	if err := o.Flush(); err != nil {
		return Verdict{}, err
	}
	return o.Hear()
}

// Say puts a question about a Rollout in one line of JSON. Flush sends it if
// Say has not.
func (o *Oracle) Say(rollout []byte, settle bool) error {
	_, err := fmt.Fprintf(o.in, "{\"settle\":%t,\"rollout\":%s}\n", settle, rollout)
	return err
}

// Flush sends what was said.
func (o *Oracle) Flush() error { return o.in.Flush() }

// Hear returns the answer to the oldest open question.
func (o *Oracle) Hear() (v Verdict, err error) { return v, o.out.Decode(&v) }
