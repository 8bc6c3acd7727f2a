// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command proof puts the same faults on ours and on the usual way in one run, prints one screen that says what each lost, and writes it to
// PROOF.txt in the folder it is run in, which is internal/bench. It exits 1, and writes nothing, if ours lost anything, had anything wrong
// or did anything twice: as the gates of the benches and the end-to-end tests say that the figures come from. No gate is on events that a
// controller had not yet written when it was killed. The loads are of 300 AgentRuns, or of as many as RUNS says.
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
	return os.WriteFile("PROOF.txt", []byte(text), 0o644) //nolint:gosec // as git has it
}

// The tests on Argo Rollouts' real controller that say how many endpoints were ready.
const (
	naive = "TestTheNaiveSwitchIsAnOutage"
	adopt = "TestNoPlanLosesAnEndpoint/Adopt"
)

// migrated runs them, and reads what they say.
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

// said reads the least numbers that the tests' attributes tell, in the output of go test -json.
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
