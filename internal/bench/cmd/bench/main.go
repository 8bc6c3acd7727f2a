// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench compares the library with its peers, and writes RESULTS.md and
// results.tsv. Run it in internal/bench. Arguments name the packages to
// measure, all by default. It exits with 1 if a gate fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

// errGate says that a number is outside its gate.
var errGate = errors.New("gate")

func main() {
	rounds := flag.Int("rounds", 31, "turns of each subject, at least 8")
	only := flag.String("only", "", "print the measures whose names contain this, and write no files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, flag.Args(), *rounds, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures one package after the other. It writes the numbers of a package
// immediately, so that a failure costs only one package.
func run(ctx context.Context, packages []string, rounds int, only string) error {
	groups, err := find(".", packages)
	if err != nil {
		return err
	}
	began := time.Now()
	var failed []bench.Row
	var broken []error
	for _, group := range groups {
		rows, err := one(ctx, group, rounds, only)
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", group, err))
		}
		rows = slices.DeleteFunc(rows, func(r bench.Row) bool { return r.Pass != bench.Fail })
		failed = append(failed, rows...)
	}
	fmt.Fprintf(os.Stderr, "took %.0fs\n", time.Since(began).Seconds())
	for _, r := range failed {
		broken = append(broken, fmt.Errorf("%w: %s: %s", errGate, r.Package, r))
	}
	return errors.Join(broken...)
}

// one measures a package. It writes the rows if all measures ran, otherwise it
// prints them.
func one(ctx context.Context, group string, rounds int, only string) ([]bench.Row, error) {
	if only == "" { // its tests check that the subjects do the same job
		if err := bench.TestGroup(ctx, group); err != nil {
			return nil, err
		}
	}
	r, err := bench.RunGroup(ctx, group, rounds, only)
	if err != nil {
		return nil, err
	}
	about := bench.About([]bench.Report{r})
	if only != "" {
		fmt.Fprint(os.Stdout, bench.Section(about, r.Rows))
		return r.Rows, nil
	}
	return r.Rows, bench.Write(r.Package, about, r.Rows)
}
