// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// said is an attribute in the output of a test.
var said = regexp.MustCompile(`(?m)^=== ATTR +(\w+) ([\w-]+) (\d+)$`)

// migrated runs these tests, and returns a figure for each of the ways and each
// unit, from the attributes of the tests.
func migrated(ctx context.Context) ([]bench.Figure, error) {
	var tests []string
	for _, w := range ways {
		tests = append(tests, w.test)
	}
	pattern := "^(" + strings.Join(tests, "|") + ")$"
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=15m", "-v", "-run", pattern, ".")
	cmd.Dir, cmd.Stderr = filepath.Join("..", "e2e", "rollout"), os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	fmt.Fprintln(os.Stderr, "a Deployment becomes a canary ...")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	numbers := map[[2]string][]float64{} // by test and key
	for _, m := range said.FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		key := [2]string{m[1], m[2]}
		numbers[key] = append(numbers[key], n)
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
