// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command compare runs controllerkit and the baseline under the same faults. It
// prints what each lost and writes that to COMPARE.txt. Run it in
// internal/bench. It exits with 1 and writes nothing if controllerkit lost a
// result, had a wrong one or ran work twice, as checked by the gates of the
// benchmarks and by the end-to-end tests. Events that were queued when a
// controller was killed have no gate. A load has 300 AgentRuns, or the number
// in RUNS.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	runs := 300
	if text := os.Getenv("RUNS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil || runs < 10 {
			return fmt.Errorf("RUNS: %q is not accepted; want a whole number, at least 10", text)
		}
	}
	began := time.Now()
	var f figures
	var peers []string
	for _, of := range []struct{ group, only string }{
		{"events", "burst of 5,000"},
		{"events", "its resourceVersion moving"},
		{"jobgc", "just created, watch lags 250 ms"},
		{"controller", ""},
	} {
		r, err := bench.RunGroup(ctx, of.group, 8, of.only, "BENCH_RUNS="+strconv.Itoa(runs), "BENCH_IDLE=1000")
		if err != nil {
			return err
		}
		f, peers = append(f, r.Rows...), append(peers, r.Peers...)
	}
	ready, err := migrated(ctx)
	if err != nil {
		return err
	}
	text, err := screen(f, runs, ready, about(peers, began))
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stdout, text)
	fmt.Fprintf(os.Stderr, "took %.0fs\n", time.Since(began).Seconds())
	for _, r := range f {
		if r.Pass == bench.Fail {
			err = errors.Join(err, errors.New(r.String()))
		}
	}
	if err != nil {
		return err
	}
	return os.WriteFile("COMPARE.txt", []byte(text), 0o644) //nolint:gosec // as git has it
}

// The tests on Argo Rollouts' real controller that count ready endpoints.
const (
	naive = "TestTheNaiveSwitchIsAnOutage"
	adopt = "TestNoPlanLosesAnEndpoint/Adopt"
)

// migrated runs these tests and reads their output.
func migrated(ctx context.Context) (endpoints, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=15m", "-json", "-run", "^"+naive+"$|^"+strings.Replace(adopt, "/", "$/^", 1)+"$", ".")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join("..", "e2e", "rollout"), &out, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	fmt.Fprintln(os.Stderr, "a Deployment becomes a canary ...")
	if err := cmd.Run(); err != nil {
		return endpoints{}, fmt.Errorf("%w: %s", err, out.String())
	}
	return said(out.Bytes())
}

// said reads the lowest numbers in the tests' attributes, from the output of
// go test -json.
func said(output []byte) (endpoints, error) {
	least := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var e struct{ Action, Test, Key, Value string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action != "attr" || e.Key != "least-ready-endpoints" {
			continue
		}
		n, err := strconv.Atoi(e.Value)
		if err != nil {
			return endpoints{}, fmt.Errorf("%s: %w", e.Test, err)
		}
		if old, found := least[e.Test]; !found || n < old {
			least[e.Test] = n
		}
	}
	if len(least) != 2 {
		return endpoints{}, fmt.Errorf("%s and %s did not both say how many endpoints were ready: %v", naive, adopt, least)
	}
	return endpoints{usual: least[naive], ours: least[adopt]}, nil
}
