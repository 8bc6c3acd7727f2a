// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The files that are written, in internal/bench.
const (
	pageFile = "RESULTS.md"
	rowsFile = "results.tsv"
)

// Write replaces the part about pkg in RESULTS.md and in results.tsv, in the
// working directory.
func Write(pkg string, about []string, rows []Row) error {
	page, err := read(pageFile)
	if err != nil {
		return err
	}
	text, err := read(rowsFile)
	if err != nil {
		return err
	}
	old, err := DecodeTSV(text)
	if err != nil {
		return err
	}
	if err := os.WriteFile(rowsFile, []byte(EncodeTSV(Merge(old, pkg, rows))), 0o644); err != nil {
		return err
	}
	return os.WriteFile(pageFile, []byte(MergeSections(page, pkg, Section(about, rows))), 0o644)
}

// read returns the text of a file, or "" if it does not exist.
func read(name string) (string, error) {
	body, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(body), err
}

// About names the machine, the date and the peers of the reports, and has their
// remarks.
func About(reports []Report) []string {
	var peers []string
	var took time.Duration
	for _, r := range reports {
		peers, took = append(peers, r.Peers...), took+r.Took
	}
	peers = slices.Compact(slices.Sorted(slices.Values(peers)))
	how := fmt.Sprintf("times are medians of %d rounds, taken alternately", reports[0].Rounds)
	if reports[0].Note != "" {
		how = reports[0].Note
	}
	today := time.Now().UTC().Format(time.DateOnly)
	lines := []string{
		fmt.Sprintf("%s, %d cores, %s; %s, in %.0f s; %s.",
			processor(), runtime.NumCPU(), runtime.Version(), today, took.Seconds(), how),
		"Peers: " + cmp.Or(strings.Join(peers, ", "), "none") + ".",
	}
	for _, r := range reports {
		if r.Remark != "" {
			lines = append(lines, strings.Split(r.Remark, "\n")...)
		}
	}
	return lines
}

// processor returns the model of the first processor.
func processor() string {
	info, err := read("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
