// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// rounds is how often each subject of a timed job is measured.
const rounds = 31

// Main is the main function of a group, which runs in the folder of the group.
// It measures, logs its progress to stderr, and writes results.json and the
// page RESULTS.md. It exits with 1 if a gate fails. It runs as a test, because
// virtual time exists only there.
func Main(g Group) {
	every := func(string, string) (bool, error) { return true, nil }
	testing.Main(every, []testing.InternalTest{{Name: g.Package, F: func(t *testing.T) {
		t.Helper()
		report, err := g.run(t)
		if err == nil {
			err = report.write()
		}
		err = errors.Join(err, failed(report.Rows))
		if err != nil {
			t.Error(err)
		}
	}}}, nil, nil)
}

func (g Group) run(t *testing.T) (report Report, err error) {
	t.Helper()
	measures, err := g.Measures(t)
	if err != nil {
		return report, err
	}
	start := time.Now()
	for i, m := range measures {
		began := time.Now()
		fmt.Fprintf(os.Stderr, "%s %d/%d: %s ...", g.Package, i+1, len(measures), m.Name)
		all, err := m.run(rounds)
		if err != nil {
			return report, err
		}
		rows, err := m.rows(all)
		if err != nil {
			return report, err
		}
		report.Rows = append(report.Rows, rows...)
		if m.Counts != nil {
			report.Figures = append(report.Figures, m.figures(all)...)
		}
		fmt.Fprintf(os.Stderr, " %.1fs\n", time.Since(began).Seconds())
	}
	report.About = g.about(time.Since(start))
	return report, nil
}

// about names the machine, the date and the peers, and has the remarks.
func (g Group) about(took time.Duration) []string {
	usually := fmt.Sprintf("times are medians of %d rounds, taken alternately", rounds)
	machine := fmt.Sprintf("%s, %d cores, %s; %s, in %.0f s; %s.",
		processor(), runtime.NumCPU(), runtime.Version(),
		time.Now().UTC().Format(time.DateOnly), took.Seconds(), cmp.Or(g.Note, usually))
	peers := "Peers: " + cmp.Or(strings.Join(g.versions(), ", "), "none") + "."
	lines := []string{machine, peers}
	if g.Remark != "" {
		lines = append(lines, strings.Split(strings.TrimSpace(g.Remark), "\n")...)
	}
	return lines
}

// processor returns the model of the first processor.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	for line := range strings.Lines(string(info)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// versions returns the peers with their linked versions.
func (g Group) versions() []string {
	linked := map[string]string{"std": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			linked[d.Path] = d.Version
		}
	}
	var all []string
	for _, p := range g.Peers {
		all = append(all, fmt.Sprintf("%s (%s %s)", p.Name, p.Module, linked[p.Module]))
	}
	return all
}
