// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Report is the output of a group's program.
type Report struct {
	Package string
	Note    string // how it was measured, if not by medians of rounds
	Remark  string
	Rounds  int
	Took    time.Duration
	Peers   []string // "controller-runtime v0.25.2 (sigs.k8s.io/controller-runtime)"
	Rows    []Row
	Figures []Figure // of the counted measures
}

// Main is the main function of a group. It measures, logs its progress to
// stderr, and prints the Report as JSON.
func Main(g Group) {
	rounds := flag.Int("rounds", 15, "measurements of each subject, at least 8")
	only := flag.String("only", "", "do the measures whose names contain this")
	flag.Parse()
	report, err := g.run(context.Background(), max(*rounds, 8), *only)
	if g.End != nil {
		err = errors.Join(err, g.End())
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, g.Package+":", err)
		os.Exit(1)
	}
}

func (g Group) run(ctx context.Context, rounds int, only string) (Report, error) {
	report := Report{Package: g.Package, Note: g.Note, Remark: g.Remark, Rounds: rounds, Peers: g.versions()}
	measures, err := g.Measures(ctx)
	if err != nil {
		return report, err
	}
	start := time.Now()
	for i, m := range measures {
		if !strings.Contains(m.Name, only) {
			continue
		}
		began := time.Now()
		fmt.Fprintf(os.Stderr, "%s %d/%d: %s ...", g.Package, i+1, len(measures), m.Name)
		samples, err := m.run(rounds)
		if err != nil {
			return report, err
		}
		rows, err := Rows(g.Package, m, samples)
		if err != nil {
			return report, err
		}
		report.Rows = append(report.Rows, rows...)
		for _, s := range samples {
			report.Figures = append(report.Figures, s.Figures...)
		}
		fmt.Fprintf(os.Stderr, " %.1fs%s\n", time.Since(began).Seconds(), verdict(rows))
	}
	report.Took = time.Since(start)
	return report, nil
}

// verdict reports whether the gates of rows pass.
func verdict(rows []Row) string {
	passed, failed := 0, 0
	for _, r := range rows {
		switch r.Pass {
		case Pass:
			passed++
		case Fail:
			failed++
		}
	}
	switch {
	case failed > 0:
		return fmt.Sprintf(", %d of %d gates FAIL", failed, passed+failed)
	case passed > 0:
		return ", ok"
	}
	return ""
}

// String returns the row as a line of text.
func (r Row) String() string {
	if r.Peer == None {
		return fmt.Sprintf("%s %s: %s is %s; wanted %s", r.Pass, r.Measure, r.Unit, r.Ours, r.Gate)
	}
	return fmt.Sprintf("%s %s: %s is %s, of %s %s: %sx; wanted %s",
		r.Pass, r.Measure, r.Unit, r.Ours, r.Peer, r.PeerValue, r.Ratio, r.Gate)
}

// versions returns the linked versions of the peers.
func (g Group) versions() []string {
	linked := map[string]string{"std": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			linked[d.Path] = d.Version
		}
	}
	out := make([]string, len(g.Peers))
	for i, p := range g.Peers {
		out[i] = fmt.Sprintf("%s (%s %s)", p.Name, p.Module, linked[p.Module])
	}
	return out
}
