// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtual runs counted measures in virtual time. Time stops while a
// goroutine runs, and jumps when all wait. So unmodified code of the library
// and its peers passes hours in seconds, even on a busy machine.
package virtual

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
)

// playing is the environment variable that names the measure for a child.
const playing = "BENCH_PLAY"

// Play runs a measure in a child of this program, whose main calls [Child]
// first. Virtual time exists only in a test, which needs a separate process.
func Play[T any](ctx context.Context, what string) (out T, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), playing+"="+what)
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return out, fmt.Errorf("%s: %w: %s", what, err, stdout.String())
	}
	// The test's own output comes last. A child that ran no measure has printed
	// only that.
	return out, json.NewDecoder(&stdout).Decode(&out)
}

// Child runs the measure, prints its result and does not return, if the process
// is a child.
func Child[T any](play func(ctx context.Context, what string) (T, error)) {
	what, ok := os.LookupEnv(playing)
	if !ok {
		return
	}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: what, F: func(t *testing.T) {
			t.Helper()
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				out, err := play(t.Context(), what)
				if err == nil {
					err = json.NewEncoder(os.Stdout).Encode(out)
				}
				if err != nil {
					t.Fatal(err)
				}
			})
		},
	}}, nil, nil)
}
