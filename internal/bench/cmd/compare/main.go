// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command compare runs controllerkit and its peers under the same faults. Run
// it in internal/bench. It writes what it measured to compare.json, as text to
// COMPARE.txt and as a picture to internal/docs/compare.svg. The rows of the
// whole controllers also go to RESULTS.md. The rows of single packages come
// from results.tsv, which make bench writes. With -draw it measures nothing and
// draws compare.json again.
//
// A load has 300 AgentRuns, or the number in RUNS. It runs 3 times for each
// controller, or ROUNDS times, alternately.
//
// It exits with 1 and writes nothing if controllerkit lost a result in any
// round, had a wrong one or ran work twice. Events that were queued when a
// controller was killed have no gate.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

func main() {
	draw := flag.Bool("draw", false, "draw compare.json again, without measuring")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *draw)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// The files that are written, from internal/bench.
const dataFile, textFile, resultsFile = "compare.json", "COMPARE.txt", "results.tsv"

var pictureFile = filepath.Join("..", "docs", "compare.svg")

func run(ctx context.Context, again bool) error {
	if again {
		data, err := os.ReadFile(dataFile)
		if err != nil {
			return err
		}
		var c comparison
		if err := json.Unmarshal(data, &c); err != nil {
			return fmt.Errorf("%s: %w", dataFile, err)
		}
		return c.draw()
	}
	runs, err := number("RUNS", 300, 10)
	if err != nil {
		return err
	}
	rounds, err := number("ROUNDS", 3, 1)
	if err != nil {
		return err
	}
	began := time.Now()
	c, err := measure(ctx, runs, rounds)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "took %.0fs\n", time.Since(began).Seconds())
	return c.draw()
}

// number reads a whole number from an environment variable.
func number(name string, otherwise, least int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("%s: %q is not accepted; want a whole number, at least %d", name, text, least)
	}
	return n, nil
}

// measure runs the controllers and the migrations. It writes the rows of the
// controllers to RESULTS.md. The rows of the packages are those that make bench
// measured last.
func measure(ctx context.Context, runs, rounds int) (comparison, error) {
	began := time.Now()
	c := comparison{Runs: runs, Rounds: rounds}
	env := []string{"BENCH_RUNS=" + strconv.Itoa(runs), "BENCH_ROUNDS=" + strconv.Itoa(rounds)}
	r, err := bench.RunGroup(ctx, "controller", 8, "", env...)
	if err != nil {
		return c, err
	}
	for _, row := range r.Rows {
		if row.Pass == bench.Fail {
			err = errors.Join(err, errors.New(row.String()))
		}
	}
	ready, failed := migrated(ctx)
	if err = errors.Join(err, failed); err != nil {
		return c, err
	}
	results, err := os.ReadFile(resultsFile)
	if err != nil {
		return c, err
	}
	packages, err := benched(string(results), runs)
	if err != nil {
		return c, err
	}
	for i, f := range r.Figures {
		if f.Subject == "" {
			r.Figures[i].Subject = ours
		}
	}
	c.Figures = slices.Concat(r.Figures, packages, ready)
	lines := bench.About([]bench.Report{r})
	c.About = append([]string{about(r.Peers, began), lines[0]}, lines[2:]...)
	return c, bench.Write("controller", lines, r.Rows)
}

// benched returns the figures of the packages from results.tsv.
func benched(results string, runs int) ([]bench.Figure, error) {
	rows, err := bench.DecodeTSV(results)
	if err != nil {
		return nil, err
	}
	var all []bench.Figure
	for _, t := range tables(runs) {
		for _, wanted := range t.rows {
			figures, failed := wanted.figures(rows, t.group)
			all = append(all, figures...)
			err = errors.Join(err, failed)
		}
	}
	return all, err
}

// figures returns the numbers of the peers of a row from the benchmarks of a
// group, and the library's once.
func (wanted row) figures(rows []bench.Row, group string) ([]bench.Figure, error) {
	var all []bench.Figure
	var failed error
	add := func(subject, text string) {
		v, err := strconv.ParseFloat(text, 64)
		all = append(all, exactly(wanted.measure, wanted.unit, subject, v))
		failed = errors.Join(failed, err)
	}
	own := group != ""
	for _, r := range rows {
		same := r.Package == group && r.Measure == wanted.measure && r.Unit == wanted.unit
		if !same || !slices.Contains(wanted.peers[:], r.Peer) {
			continue
		}
		add(r.Peer, r.PeerValue)
		if own {
			add(ours, r.Ours)
		}
		own = false
	}
	return all, failed
}

// about names the peers and the date.
func about(peers []string, at time.Time) string {
	var versions []string
	for _, p := range peers { // "its name (its/module v1.2.3)"
		version := path.Base(strings.TrimSuffix(p[strings.LastIndex(p, "(")+1:], ")"))
		if !strings.HasPrefix(version, "std ") { // the text does not name Go's standard library
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	named := strings.Join(slices.Compact(versions), ", ")
	return fmt.Sprintf("%s, Argo Rollouts' own controller; %s", named, at.UTC().Format(time.DateOnly))
}

// draw writes the file of the figures, the text and the picture.
func (c comparison) draw() error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	lines := strings.ReplaceAll(string(data), "},{", "},\n{") + "\n" // one for each figure
	text, err := c.text()
	if err != nil {
		return err
	}
	picture, err := c.picture()
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stdout, text)
	for name, body := range map[string]string{dataFile: lines, textFile: text, pictureFile: picture} {
		if err := os.WriteFile(name, []byte(body), 0o644); err != nil { //nolint:gosec // as git has it
			return err
		}
	}
	return nil
}
