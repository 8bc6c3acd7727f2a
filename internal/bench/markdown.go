// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// preface is the head of RESULTS.md.
const preface = "# controllerkit and its peers\n\n" +
	"Measured by `make bench` (one package: `make bench GROUP=status`), which writes this page " +
	"and the same rows to results.tsv.\n" +
	"The library and its peers are measured alternately in one process. " +
	"Times are medians of CPU time without the garbage collector's;\n" +
	"the bytes show its share. On another machine the ratios stay closer to these than the times. " +
	"Allocations, bytes and requests are\n" +
	"exact counts. A ratio of 0.1x is a tenth of the peer's number. " +
	"The ratio of a time is the median of the ratios of all rounds, because\n" +
	"a machine may change its speed between two rounds. The command fails if a gate fails. " +
	"The folder of each group has the code of its\n" +
	"peers, and the reasons for it.\n"

// heading begins the section of a package.
const heading = "\n## "

// Section returns the part of RESULTS.md about one package. The parameter about
// names the machine and the peers.
func Section(about []string, rows []Row) string {
	var b strings.Builder
	for _, line := range about {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n| measure | unit | controllerkit | peer | peer's | ratio | gate | |\n" +
		"|---|---|---:|---|---:|---:|---|---|\n")
	var last Row
	for _, r := range rows {
		shown := r
		if r.Measure == last.Measure {
			shown.Measure = ""
			if r.Unit == last.Unit {
				shown.Unit, shown.Ours = "", ""
			}
		}
		last = r
		if r.Ratio != None {
			shown.Ratio += "x"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
			shown.Measure, shown.Unit, shown.Ours, shown.Peer,
			shown.PeerValue, shown.Ratio, shown.Gate, shown.Pass)
	}
	return b.String()
}

// MergeSections replaces or adds the section of pkg in page, the text of
// RESULTS.md.
func MergeSections(page, pkg, section string) string {
	sections := map[string]string{}
	for i, s := range strings.Split(page, heading) {
		name, body, ok := strings.Cut(s, "\n\n")
		if i > 0 && ok {
			sections[name] = strings.TrimRight(body, "\n") + "\n"
		}
	}
	sections[pkg] = section
	var b strings.Builder
	b.WriteString(preface)
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		b.WriteString(heading + name + "\n\n" + sections[name])
	}
	return b.String()
}
