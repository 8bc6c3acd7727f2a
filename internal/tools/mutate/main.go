// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutate changes one operator, condition, case or assignment of a
// package's core at a time, and reports which changes the named tests miss. All
// changes are in one test program, which a number in its environment switches
// on, so that a change costs no compilation.
//
// Each run of tests tries what the run before it has missed. A change that all
// runs miss must be in the list of survivors, with a reason.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir := flag.String("dir", "", "the folder of the package")
	files := flag.String("files", "", "the files of the core, with commas")
	runs := flag.String("runs", "",
		"patterns of tests, with commas: each tries what the one before has missed")
	known := flag.String("survivors", "", "the list of the changes that may survive, with reasons")
	every := flag.Int("every", 1, "try each nth change")
	flag.Parse()

	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	p := program{dir: *dir, binary: filepath.Join(work, "tests")}
	err = p.compile(ctx, work, strings.Split(*files, ","))
	if err != nil {
		return err
	}
	var left []mutant
	for _, m := range p.mutants {
		if m.number%*every == 0 {
			left = append(left, m)
		}
	}
	total := len(left)
	fmt.Fprintf(os.Stdout, "%d mutants\n", total)
	for tests := range strings.SplitSeq(*runs, ",") {
		left, err = p.try(ctx, tests, left)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "%s: %d of %d killed until now, %.1f %%\n",
			tests, total-len(left), total, 100*float64(total-len(left))/float64(total))
	}
	return report(left, *known)
}

// program is a test program with all mutants.
type program struct {
	dir, binary string
	mutants     []mutant
	took        time.Duration // of processor time, by the last run
	limit       int           // seconds of it that a run may take
}

// compile makes the program, from copies of the files.
func (p *program) compile(ctx context.Context, work string, files []string) error {
	dir, err := filepath.Abs(p.dir)
	if err != nil {
		return err
	}
	replaced := map[string]string{} // the compiler reads these texts in place of files
	put := func(path, text string) error {
		copied := filepath.Join(work, strconv.Itoa(len(replaced))+".go")
		replaced[path] = copied
		return os.WriteFile(copied, []byte(text), 0o600)
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed, err := mutate(name, source, &p.mutants)
		if err != nil {
			return err
		}
		err = put(path, string(changed))
		if err != nil {
			return err
		}
	}
	err = put(filepath.Join(dir, "zz_mutants.go"), "package "+filepath.Base(dir)+"\n\n"+switches)
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return err
	}
	list := filepath.Join(work, "overlay.json")
	err = os.WriteFile(list, text, 0o600)
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", list, "-o", p.binary, ".")
	build.Dir = dir
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("compile: %w\n%s", err, out)
	}
	return nil
}

// try returns the mutants that the tests miss.
func (p *program) try(ctx context.Context, tests string, mutants []mutant) ([]mutant, error) {
	p.limit = 600
	if p.notices(ctx, tests, 0) {
		return nil, errors.New(tests + " fails without a change")
	}
	p.limit = 3 + 4*int(p.took.Seconds())
	fmt.Fprintf(os.Stdout, "%s: %s without a change\n", tests, p.took.Round(time.Second/10))
	var left []mutant
	for _, m := range mutants {
		verdict := "noticed"
		if !p.notices(ctx, tests, m.number) {
			left = append(left, m)
			verdict = "MISSED"
		}
		fmt.Fprintf(os.Stdout, "%s %s [%s, %s]\n", m.where, m.key(), verdict, p.took.Round(time.Second/10))
	}
	return left, nil
}

// notices reports whether the tests fail with a mutant. A mutant that makes
// them hang, or take all memory, is noticed: they may take four times the
// processor time that they take without one.
func (p *program) notices(ctx context.Context, tests string, number int) bool {
	limited := fmt.Sprintf("ulimit -v 8388608; ulimit -t %d; exec nice -n 19 \"$0\" \"$@\"", p.limit)
	test := exec.CommandContext(ctx, "sh", "-c", limited, p.binary,
		"-test.run", tests, "-test.failfast", "-test.parallel", "2", "-test.timeout", "10m")
	test.Dir = p.dir
	test.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number))
	err := test.Run()
	p.took = test.ProcessState.UserTime() + test.ProcessState.SystemTime()
	return err != nil
}

// report compares the survivors with the list of those that may survive. A line
// of the list is a change, a tab, and the reason. Lines that begin with # are
// comments.
func report(left []mutant, known string) error {
	reasons := map[string]string{}
	text, err := os.ReadFile(known)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		change, reason, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if ok && !strings.HasPrefix(line, "#") {
			reasons[change] = reason
		}
	}
	unlisted := 0
	for _, m := range left {
		reason, listed := reasons[m.key()]
		if !listed {
			unlisted++
			reason = "NOT LISTED"
		}
		fmt.Fprintf(os.Stdout, "%s\t%s\t%s\n", m.where, m.key(), reason)
	}
	if unlisted > 0 {
		return fmt.Errorf("%d survivors are not in the list", unlisted)
	}
	return nil
}
