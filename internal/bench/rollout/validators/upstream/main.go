// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command upstream is the smallest program that validates a Rollout with the
// code of Argo Rollouts: JSON on standard input, problems on standard output.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/validation"
)

func main() {
	var r v1alpha1.Rollout
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, validation.ValidateRollout(&r).ToAggregate())
}
