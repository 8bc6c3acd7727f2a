// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
)

//go:embed script.sh.tmpl
var script string

// String returns the plan as a script for sh. It prints the warnings, and each
// step before it does it, and stops at the first that fails. A plan without
// steps is "".
func (p Plan) String() string {
	if len(p.Steps) == 0 {
		return ""
	}
	var b strings.Builder
	if err := p.render(&b); err != nil {
		return fmt.Sprintf("#!/bin/sh\necho %s >&2\nexit 1\n", quote(err.Error()))
	}
	return b.String()
}

// head has the lines for the beginning of the script.
type head struct {
	Header, Undo, Warnings []string
	Kubectl                string
}

func (p Plan) render(w io.Writer) error {
	t, err := template.New("").Funcs(template.FuncMap{"quote": quote}).Parse(script)
	if err != nil {
		return fmt.Errorf("rollout/plan: render: %w", err)
	}
	h := head{Kubectl: p.kubectl}
	for _, line := range p.header {
		h.Header = append(h.Header, fold(line)...)
	}
	for _, text := range p.Warnings {
		h.Warnings = append(h.Warnings, fold("WARNING: "+text)...)
	}
	for _, op := range p.undo {
		var line strings.Builder
		if err := t.ExecuteTemplate(&line, "undo", op); err != nil {
			return fmt.Errorf("rollout/plan: render: %w", err)
		}
		h.Undo = append(h.Undo, strings.ReplaceAll(line.String(), "\n", " "))
	}
	if err := t.ExecuteTemplate(w, "head", h); err != nil {
		return fmt.Errorf("rollout/plan: render: %w", err)
	}
	for i, s := range p.Steps {
		fmt.Fprintf(w, "\necho %s\n", quote(fmt.Sprintf("%d/%d %s", i+1, len(p.Steps), s.Do)))
		if err := t.ExecuteTemplate(w, s.Verb, s.Op); err != nil {
			return fmt.Errorf("rollout/plan: render: step %d: %w", i+1, err)
		}
	}
	fmt.Fprintln(w, "echo Done")
	return nil
}

// kubectl is the beginning of each command, on one line.
func kubectl(context, namespace string) string {
	command := "kubectl"
	if context != "" {
		command += " --context=" + quote(context)
	}
	if namespace != "" {
		command += " --namespace=" + quote(namespace)
	}
	return strings.ReplaceAll(command, "\n", " ")
}

// quote makes one word of a text: the only place where values enter a script,
// except manifests, whose YAML cannot end the here-document.
func quote(s string) string {
	const plain = "-./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// fold breaks a text into lines of about 100 columns, where it has spaces. Its
// own line breaks are spaces, so that it stays a comment.
func fold(text string) (lines []string) {
	const (
		columns = 98
		indent  = "  "
	)
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > columns:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
