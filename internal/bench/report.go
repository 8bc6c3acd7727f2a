// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
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

// layout is the template of RESULTS.md.
//
//go:embed results.tmpl
var layout string

// page returns RESULTS.md, from the reports below dir.
func page(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", resultsFile))
	if err != nil {
		return "", err
	}
	all := map[string]Report{} // a template goes through a map in order
	for _, file := range files {
		group := filepath.Dir(file)
		all[filepath.Base(group)], err = Read(group)
		if err != nil {
			return "", err
		}
	}
	t, err := template.New("").Parse(layout)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, all)
	return b.String(), err
}

// Shown are the rows as a person reads them. They do not repeat what the line
// above says.
func (r Report) Shown() []Row {
	shown := slices.Clone(r.Rows)
	for i, row := range r.Rows {
		if row.Ratio != none {
			shown[i].Ratio += "x"
		}
		if i == 0 || row.Measure != r.Rows[i-1].Measure {
			continue
		}
		shown[i].Measure = ""
		if row.Unit == r.Rows[i-1].Unit {
			shown[i].Unit = ""
			shown[i].Ours = ""
		}
	}
	return shown
}
