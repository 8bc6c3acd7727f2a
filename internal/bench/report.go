// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Report is what a group measured last. It is in results.json in the folder of
// the group.
type Report struct {
	About   []string // the machine, the peers and the remarks
	Rows    []Row
	Figures []Figure // of the counted measures
}

const resultsFile = "results.json"

// Read returns the report of the group in a folder.
func Read(folder string) (r Report, err error) {
	text, err := os.ReadFile(filepath.Join(folder, resultsFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// write writes the file in the working directory and the page above it.
func (r Report) write() error {
	text, err := Encode(r)
	if err != nil {
		return err
	}
	err = os.WriteFile(resultsFile, text, 0o644)
	if err != nil {
		return err
	}
	all, err := page("..")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("..", "RESULTS.md"), []byte(all), 0o644)
}

// Encode returns v as JSON with a line for each object of a list, so that a
// diff shows what has changed.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.ReplaceAll(b.Bytes(), []byte("},{"), []byte("},\n{")), err
}

// preface is the head of RESULTS.md.
const preface = "# controllerkit and its peers\n\n" +
	"Measured by `make bench` (one package: `make bench GROUP=status`), which writes this page, " +
	"and the same rows to results.json\n" +
	"in the folder of each group. The library and its peers are measured alternately in one process. " +
	"Times are medians of CPU time\n" +
	"without the garbage collector's; the bytes show its share. " +
	"On another machine the ratios stay closer to these than the times.\n" +
	"Allocations, bytes and requests are exact counts. A ratio of 0.1x is a tenth of the peer's number. " +
	"The ratio of a time is the\n" +
	"median of the ratios of all rounds, because a machine may change its speed between two rounds. " +
	"The command fails if a gate fails.\n" +
	"The folder of each group has the code of its peers, and the reasons for it.\n"

// page returns RESULTS.md, from the reports below dir.
func page(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", resultsFile))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	all.WriteString(preface)
	for _, file := range files { // sorted
		group := filepath.Dir(file)
		r, err := Read(group)
		if err != nil {
			return "", err
		}
		all.WriteString("\n## " + filepath.Base(group) + "\n\n" + r.section())
	}
	return all.String(), nil
}

// section returns the report as Markdown. It does not repeat what the line
// above says.
func (r Report) section() string {
	var b strings.Builder
	for _, line := range r.About {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n| measure | unit | controllerkit | peer | peer's | ratio | gate | |\n" +
		"|---|---|---:|---|---:|---:|---|---|\n")
	var last Row
	for _, row := range r.Rows {
		shown := row
		if row.Measure == last.Measure {
			shown.Measure = ""
			if row.Unit == last.Unit {
				shown.Unit, shown.Ours = "", ""
			}
		}
		last = row
		if row.Ratio != none {
			shown.Ratio += "x"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
			shown.Measure, shown.Unit, shown.Ours, shown.Peer,
			shown.PeerValue, shown.Ratio, shown.Gate, shown.Pass)
	}
	return b.String()
}
