// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command ours is the smallest program that validates a Rollout with the
// library: JSON on standard input, problems on standard output.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/proompteng/controllerkit/rollout"
)

func main() {
	var r rollout.Rollout
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, rollout.Validate(&r).ToAggregate())
}
