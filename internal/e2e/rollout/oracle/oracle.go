// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle asks the code of Argo Rollouts about Rollouts, in the versions
// that its controller is built with.
package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Oracle is a running process, for one goroutine.
type Oracle struct {
	in  io.Writer
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
	// It ends when its input does. It is small, and asked 100,000 times.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program)
	cmd.Env = append(os.Environ(), "GOGC=400")
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
	return &Oracle{in: stdin, out: json.NewDecoder(stdout)}
}

// Ask asks one question in one line of JSON, and returns its answer.
func (o *Oracle) Ask(rollout []byte, settle bool) (v Verdict, err error) {
	if _, err := fmt.Fprintf(o.in, "{\"settle\":%t,\"rollout\":%s}\n", settle, rollout); err != nil {
		return v, err
	}
	err = o.out.Decode(&v)
	return v, err
}

// Table is that of package rollout's own test of bad Rollouts.
type Table struct {
	Base json.RawMessage
	Rows map[string]struct {
		Patch   json.RawMessage // a merge patch of Base
		Refused bool            // by Validate
	}
}

// Golden reads the file that this test has written, in the module at root.
func Golden(t *testing.T, root string) (table Table) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "rollout", "testdata", "badrollouts.golden.json"))
	require.NoError(t, err)
	var line bytes.Buffer // a question has no second one
	require.NoError(t, json.Compact(&line, data))
	require.NoError(t, json.Unmarshal(line.Bytes(), &table))
	require.NotEmpty(t, table.Rows)
	return table
}
