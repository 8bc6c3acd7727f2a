// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=15m", "-json", "-run", pattern(), ".")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join("..", "e2e", "rollout"), &out, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	fmt.Fprintln(os.Stderr, "a Deployment becomes a canary ...")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out.String())
	}
	return said(out.Bytes())
}

// pattern matches the tests.
func pattern() string {
	var tests []string
	for _, w := range ways {
		tests = append(tests, w.test)
	}
	return "^(" + strings.Join(tests, "|") + ")$"
}

// said returns a figure for each of the ways and each unit, from the output of
// go test -json.
func said(output []byte) ([]bench.Figure, error) {
	numbers, err := attributes(output)
	if err != nil {
		return nil, err
	}
	var all []bench.Figure
	for _, w := range ways {
		for _, unit := range []string{least, most, last} {
			n, found := numbers[[2]string{w.test, unit}]
			if !found {
				return nil, fmt.Errorf("%s did not say: %s", w.test, unit)
			}
			all = append(all, exactly(canary, unit, w.subject, float64(n)))
		}
	}
	return all, nil
}

// attributes reads the attributes of the tests: the extremes of the ready
// endpoints, and the last number of pods of the Deployment. The keys are a test
// and a unit.
func attributes(output []byte) (map[[2]string]int, error) {
	units := map[string]string{
		"least-ready-endpoints": least, "most-ready-endpoints": most, "deployment-pods": last,
	}
	numbers := map[[2]string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var e struct{ Action, Test, Key, Value string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action != "attr" || units[e.Key] == "" {
			continue
		}
		n, err := strconv.Atoi(e.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Test, err)
		}
		key := [2]string{e.Test, units[e.Key]}
		old, found := numbers[key]
		switch {
		case found && units[e.Key] == least:
			n = min(n, old)
		case found && units[e.Key] == most:
			n = max(n, old)
		}
		numbers[key] = n
	}
	return numbers, nil
}
