// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bug is a change that the unit tests of its package miss, and a suite notices.
type bug struct {
	line  int // of the list, where it begins
	edits []replacement
	what  string
	suite string // from the root of the repository, as files are
	tests string // the pattern of the suite's tests that notice it
}

// replacement changes a file.
type replacement struct {
	file     string
	old, new []string // lines
}

// tryBugs tries each bug of a list whose suite has this name. No file changes:
// the compiler reads the bug from an overlay, also in programs that a suite
// builds.
func tryBugs(ctx context.Context, list, only string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	bugs, err := parseBugs(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	root, _ := filepath.Abs("../..") // from internal/tools
	var failed []error
	for _, b := range bugs {
		if !strings.HasSuffix(b.suite, only) {
			continue
		}
		began := time.Now()
		err := b.try(ctx, root)
		verdict := "noticed by the suite alone"
		if err != nil {
			verdict = err.Error()
			failed = append(failed, fmt.Errorf("%s:%d: %w", list, b.line, err))
		}
		seconds := time.Since(began).Seconds()
		fmt.Fprintf(os.Stdout, "%-26s %4.0fs  %s [%s]\n", b.suite, seconds, b.what, verdict)
	}
	return errors.Join(failed...)
}

// parseBugs reads a list. A bug is a paragraph: a sentence, the suite with a
// pattern of tests, and then files, each with its lines as a diff shows them. A
// line that begins with # is a comment.
func parseBugs(text string) ([]bug, error) {
	var bugs []bug
	var lines []string
	for number, line := range strings.Split(text+"\n", "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case line != "":
			lines = append(lines, line)
		case len(lines) > 0:
			b, err := parseBug(lines)
			b.line = number + 1 - len(lines)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", b.line, err)
			}
			bugs = append(bugs, b)
			lines = nil
		}
	}
	return bugs, nil
}

func parseBug(lines []string) (bug, error) {
	wrong := errors.New("want a sentence, a suite with a pattern of tests, a file, and lines with - and +")
	if len(lines) < 5 {
		return bug{}, wrong
	}
	b := bug{what: lines[0]}
	b.suite, b.tests, _ = strings.Cut(lines[1], " ")
	for _, line := range lines[2:] {
		last := len(b.edits) - 1
		isLine := line[0] == '-' || line[0] == '+'
		switch {
		case !isLine:
			b.edits = append(b.edits, replacement{file: line})
		case last < 0:
			return bug{}, wrong
		case line[0] == '-':
			b.edits[last].old = append(b.edits[last].old, line[1:])
		default:
			b.edits[last].new = append(b.edits[last].new, line[1:])
		}
	}
	return b, nil
}

// try returns an error unless the suite alone notices the bug.
func (b bug) try(ctx context.Context, root string) (err error) {
	work, err := os.MkdirTemp("", "bug")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	o := newOverlay(work)
	for _, e := range b.edits {
		path := filepath.Join(root, e.file)
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		old := strings.Join(e.old, "\n")
		if strings.Count(string(source), old) != 1 {
			return fmt.Errorf("%s must have the lines once", e.file)
		}
		err = o.put(path, strings.Replace(string(source), old, strings.Join(e.new, "\n"), 1))
		if err != nil {
			return err
		}
	}
	list, err := o.list()
	if err != nil {
		return err
	}
	out, err := test(ctx, root, filepath.Dir(b.edits[0].file), "", list)
	if err != nil {
		return fmt.Errorf("the unit tests notice it: %s", tail(out))
	}
	out, err = test(ctx, root, b.suite, b.tests, list)
	switch {
	case err == nil:
		return fmt.Errorf("the suite misses it: %s", tail(out))
	case !strings.Contains(out, "--- FAIL"):
		return fmt.Errorf("the suite does not run: %s", tail(out))
	}
	return nil
}

// test runs tests of a folder, and returns what they print. The root
// module is tested with the newest versions, which the suites require too.
func test(ctx context.Context, root, dir, tests, overlay string) (string, error) {
	work := filepath.Join(root, "internal/compat/newest.work")
	for module := dir; module != "."; module = filepath.Dir(module) {
		_, err := os.Stat(filepath.Join(root, module, "go.mod"))
		if err == nil {
			work = "off"
		}
	}
	args := []string{"test", "-vet=off", "-count=1", "-skip", "Thousand|Cliff", "-run", tests, "."}
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = filepath.Join(root, dir)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK="+work, "GOFLAGS=-trimpath -overlay="+overlay)
	out, err := c.CombinedOutput()
	return string(out), err
}

func tail(text string) string { return text[max(0, len(text)-2000):] }
