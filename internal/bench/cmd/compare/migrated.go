// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/proompteng/controllerkit/internal/bench"
)

// The ways from a Deployment to a canary and back, and the tests on Argo
// Rollouts' real controller that count the ready endpoints of each.
const (
	naively     = "apply and delete"
	byReference = "workloadRef"

	canary = "a Deployment of 5 becomes a canary and a Deployment again"
	least  = "fewest ready pods"
	most   = "most ready pods"
	last   = "pods of the Deployment in the end"
)

var ways = []struct{ subject, test string }{
	{ours, "TestNoPlanLosesAnEndpoint"},
	{naively, "TestTheNaiveSwitchIsAnOutage"},
	{byReference, "TestTheReferenceOfUpstream"},
}

// migrated runs these tests and reads their output.
func migrated(ctx context.Context) ([]bench.Figure, error) {
	var tests []string
	for _, w := range ways {
		tests = append(tests, w.test)
	}
	pattern := "^(" + strings.Join(tests, "|") + ")$"
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=15m", "-json", "-run", pattern, ".")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join("..", "e2e", "rollout"), &out, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	fmt.Fprintln(os.Stderr, "a Deployment becomes a canary ...")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out.String())
	}
	return said(out.Bytes())
}

// said returns a figure for each of the ways and each unit, from the attributes
// of the tests in the output of go test -json.
func said(output []byte) ([]bench.Figure, error) {
	numbers := map[[2]string][]float64{} // by test and key
	for line := range bytes.Lines(output) {
		var e struct{ Action, Test, Key, Value string }
		if json.Unmarshal(line, &e) != nil || e.Action != "attr" {
			continue
		}
		n, err := strconv.ParseFloat(e.Value, 64)
		if err == nil {
			key := [2]string{e.Test, e.Key}
			numbers[key] = append(numbers[key], n)
		}
	}
	var all []bench.Figure
	for _, w := range ways {
		for _, u := range []struct {
			unit, key string
			of        func([]float64) float64
		}{
			{least, "least-ready-endpoints", slices.Min[[]float64]},
			{most, "most-ready-endpoints", slices.Max[[]float64]},
			{last, "deployment-pods", func(all []float64) float64 { return all[len(all)-1] }},
		} {
			found := numbers[[2]string{w.test, u.key}]
			if len(found) == 0 {
				return nil, fmt.Errorf("%s did not say: %s", w.test, u.unit)
			}
			all = append(all, exactly(canary, u.unit, w.subject, u.of(found)))
		}
	}
	return all, nil
}
