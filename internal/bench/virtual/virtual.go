// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtual plays in virtual time what is counted rather than timed: time stands still while anything runs, and passes at once when
// all wait, so that unmodified code of ours and of the peers goes through hours in seconds, however busy the machine is.
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

// playing is the environment variable by which a child is told what to play.
const playing = "BENCH_PLAY"

// Play plays what in a child of this program, whose main calls [Child] first: virtual time is to be had in a test alone, which wants its
// process for itself.
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
	// What the test says of itself comes after it. A child that did not play has said nothing else.
	return out, json.NewDecoder(&stdout).Decode(&out)
}

// Child plays what the process is told to, prints what came of it, and does not return, if the process is a child.
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
