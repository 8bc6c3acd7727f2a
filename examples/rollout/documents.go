// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

// document is a part of a stream with the separator before it. The raw parts of
// a stream, one after the other, are the stream.
type document struct {
	raw  []byte
	from string // file and number, for errors

	apiVersion, kind, name string
	namespace              string // empty: the one that kubectl uses
}

func (d *document) String() string { return strings.TrimSpace(d.from + ": " + d.kind + " " + d.name) }

// head reads the kind and the name of a document. The program does not look at
// its other fields.
func (d *document) head() error {
	var v any
	if err := yaml.Unmarshal(d.raw, &v); err != nil && !blank(d.raw) {
		return fmt.Errorf("%s: %w", d.from, err)
	}
	d.apiVersion, d.kind, d.name = text(v, "apiVersion"), text(v, "kind"), text(v, "metadata", "name")
	d.namespace = text(v, "metadata", "namespace")
	return nil
}

// unstructured is the whole document.
func (d *document) unstructured() (unstructured.Unstructured, error) {
	var u unstructured.Unstructured
	err := yaml.Unmarshal(d.raw, &u.Object)
	if err != nil {
		err = fmt.Errorf("%s: %w", d, err)
	}
	return u, err
}

func text(v any, path ...string) string {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}

// read splits all files into documents. Those without a kind, such as empty
// ones, are documents too.
func read(files []string, stdin io.Reader) (docs []*document, problems []string) {
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, file := range files {
		var (
			data []byte
			err  error
		)
		if file == "-" {
			file = "standard input"
			data, err = io.ReadAll(stdin)
		} else {
			data, err = os.ReadFile(file)
		}
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		for i, raw := range split(data) {
			d := &document{raw: raw, from: fmt.Sprintf("%s: document %d", file, i+1)}
			if err := d.head(); err != nil {
				problems = append(problems, err.Error())
				continue
			}
			docs = append(docs, d)
		}
	}
	return docs, problems
}

// split cuts before every line that separates documents.
func split(data []byte) [][]byte {
	var parts [][]byte
	var part []byte
	for line := range bytes.Lines(data) {
		if separates(line) && len(part) > 0 {
			parts = append(parts, part)
			part = nil
		}
		part = append(part, line...)
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// separates: three hyphens that begin a document, or three dots that end one,
// with or without something behind them.
func separates(line []byte) bool {
	for _, mark := range []string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(mark))
		if !ok {
			continue
		}
		if len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n") {
			return true
		}
	}
	return false
}

// preamble is the separator of a document and the comments in front of it.
func preamble(raw []byte) []byte {
	n := 0
	for line := range bytes.Lines(raw) {
		if !blank(line) {
			break
		}
		n += len(line)
	}
	return raw[:n:n]
}

// blank: nothing but separators, directives and comments.
func blank(raw []byte) bool {
	for line := range bytes.Lines(raw) {
		text := bytes.TrimSpace(line)
		if separates(line) {
			text = bytes.TrimSpace(text[3:])
		}
		if len(text) > 0 && text[0] != '#' && text[0] != '%' {
			return false
		}
	}
	return true
}
