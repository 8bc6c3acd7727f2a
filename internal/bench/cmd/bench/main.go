// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures ours beside the peers and writes RESULTS.md and results.tsv in the folder it is run in, which
// is internal/bench. Arguments name the packages to measure, all by default. It exits 1 if a gate fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

// errGate ends the command when everything was measured but not everything is as good as it should be.
var errGate = errors.New("a gate fails")

func main() {
	rounds := flag.Int("rounds", 15, "turns of each subject, at least 8")
	only := flag.String("only", "", "print the measures whose names contain this, and write no files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, flag.Args(), *rounds, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, packages []string, rounds int, only string) error {
	groups, err := find(".", packages)
	if err != nil {
		return err
	}
	began, failed := time.Now(), 0
	var seen []string
	reports := map[string][]bench.Report{}
	for _, g := range groups {
		r, err := measure(ctx, g, rounds, only)
		if err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
		if reports[r.Package] == nil {
			seen = append(seen, r.Package)
		}
		reports[r.Package] = append(reports[r.Package], r)
	}
	for _, pkg := range seen {
		rows := collect(reports[pkg])
		failed += report(rows)
		if only != "" {
			fmt.Fprint(os.Stdout, bench.Section(about(reports[pkg]), rows))
			continue
		}
		if err := write(pkg, about(reports[pkg]), rows); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "measured %s in %.0fs\n", strings.Join(seen, ", "), time.Since(began).Seconds())
	if failed > 0 {
		return fmt.Errorf("%w: %d of them", errGate, failed)
	}
	return nil
}

// collect are the rows of all groups of a package.
func collect(reports []bench.Report) []bench.Row {
	var rows []bench.Row
	for _, r := range reports {
		rows = append(rows, r.Rows...)
	}
	return rows
}

// report prints the gates that do not hold, and returns their number.
func report(rows []bench.Row) (failed int) {
	for _, r := range rows {
		if r.Pass == bench.Fail {
			failed++
			fmt.Fprintf(os.Stderr, "%s: %s\n", r.Package, r)
		}
	}
	return failed
}
