// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPages_ShowCompiledCode: every Go block of README and of a guide is part
// of a Go file of this repository. Only the indentation may differ.
//
//req:shows A2
func TestPages_ShowCompiledCode(t *testing.T) {
	var sources strings.Builder
	for _, body := range tracked(t, "*.go") {
		sources.WriteString("\n" + unindented(string(body)) + "\n\n")
	}
	for name, page := range tracked(t, "README.md", "examples/migrate/*.md") {
		blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
		assert.NotEmpty(t, blocks, "%s has no Go block; show code that is compiled", name)
		for _, b := range blocks {
			found := strings.Contains(sources.String(), "\n"+unindented(b[1])+"\n")
			assert.True(t, found, "%s: no Go file of the repository has this block; copy the lines of a file:\n%s", name, b[1])
		}
	}
}

// TestReadme_FirstScreenDeclaresItsNames: a reader can type the Go blocks of
// the first screen as they stand. The blocks declare each name, a package has
// it, or README names it in the sentence before.
func TestReadme_FirstScreenDeclaresItsNames(t *testing.T) {
	screen, _, _ := strings.Cut(read(t, "README.md"), "\n## ")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(screen, -1)
	require.Len(t, blocks, 2, "README.md: Reconcile, and what main makes")
	source := "package first\n" + blocks[0][1] + "func main() {\n" + blocks[1][1] + "}\n"
	file, err := parser.ParseFile(token.NewFileSet(), "README.md", source, 0)
	require.NoError(t, err)
	known := []string{"error", "nil", "new", "context", "errors", "ctrl", "client", "events", "status", "time", "v1", "TaskReconciler"}
	for _, name := range file.Unresolved {
		isNamed := strings.Contains(screen, "`"+name.Name+"`")
		assert.True(t, isNamed || slices.Contains(known, name.Name), "README.md: nothing on the first screen says what %s is", name.Name)
	}
}

// TestDoc_ReconcilerOfJobgcIsCompiledCode: the reconciler in the documentation
// of package jobgc is compiled in an example.
//
//req:shows A2
func TestDoc_ReconcilerOfJobgcIsCompiledCode(t *testing.T) {
	code := regexp.MustCompile(`(?ms)^//\tfunc \(r \*Reconciler\) Reconcile.*?^//\t}$`).FindString(read(t, "jobgc/doc.go"))
	require.NotEmpty(t, code, "jobgc/doc.go has no func (r *Reconciler) Reconcile; keep the reconciler as an indented block")
	assert.Contains(t, read(t, "examples/controller-runtime/onejob/reconcile.go"), regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(code, ""),
		"jobgc/doc.go: copy the reconciler from this file")
}

// TestReadme_MeasuredIsWhatCompareMeasured: the rows below Measured are those
// of make compare's file.
func TestReadme_MeasuredIsWhatCompareMeasured(t *testing.T) {
	var measured struct {
		Runs, Rounds int
		About        []string
		Figures      []struct {
			Measure, Unit, Subject string
			Median, Total          float64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "internal/bench/compare.json")), &measured))
	figure := func(measure, unit, subject string) (median, total float64) {
		t.Helper()
		for _, f := range measured.Figures {
			if f.Measure == measure && f.Unit == unit && f.Subject == subject {
				return f.Median, f.Total
			}
		}
		require.Fail(t, "not measured", "internal/bench/compare.json has no %s of %s: %s; run make compare, or change the row in this test", unit, subject, measure)
		return 0, 0
	}
	load := strconv.Itoa(measured.Runs) + " runs"
	subjects := []string{"usual", "careful", "ours"}
	when := regexp.MustCompile(`; (\d{4}-\d\d-\d\d), .* load was (\S+) when`).FindStringSubmatch(measured.About[1])
	require.NotNil(t, when, "internal/bench/compare.json does not say when it was measured, and at what load")
	table := fmt.Sprintf("| %d × %s, %s, at a load of %s | usual | careful | this example |\n|---|---:|---:|---:|\n", measured.Rounds, load, when[1], when[2])
	row := func(title string, cell func(subject string) string) {
		table += "| " + title
		for _, subject := range subjects {
			table += " | " + cell(subject)
		}
		table += " |\n"
	}
	const killed = ", controller killed 3 times: "
	row("results lost while the controller is killed 3 times", func(subject string) string {
		_, lost := figure(load+killed+"results lost", "runs", subject)
		return fmt.Sprintf("%.0f of %d", lost, measured.Runs*measured.Rounds)
	})
	row("failed runs without an Event, the same", func(subject string) string {
		_, lost := figure(load+killed+"failures without an event", "runs", subject)
		_, all := figure(load+killed+"failed", "runs", subject)
		return fmt.Sprintf("%.0f of %.0f", lost, all)
	})
	row("second Jobs in plans of kills and old caches ([Sieve](internal/docs/evidence.md#stale-caches))", func(subject string) string {
		twice, _ := figure("plans of Sieve: second Job", "plans", subject)
		all, _ := figure("plans of Sieve: plans", "plans", subject)
		return fmt.Sprintf("%.0f of %.0f", twice, all)
	})
	for _, r := range []struct {
		title, measure, unit string
		digits               int
	}{
		{"API requests a run, nothing fails", load + ": requests a run", "requests", 2},
		{"API writes a run", load + ": writes a run", "requests", 2},
		{"CPU seconds", load + ": CPU time", "s", 2},
		{"memory, MiB", load + ": peak memory", "MiB", 0},
		{"requests in the first minute with 1,000 ended runs", "a start with 1000 ended runs, the first minute: requests", "requests", 0},
	} {
		row(r.title, func(subject string) string {
			median, _ := figure(r.measure, r.unit, subject)
			return strconv.FormatFloat(median, 'f', r.digits, 64)
		})
	}
	lines := func(subject string) float64 {
		n, _ := figure("lines of one's own", "lines", subject)
		return n
	}
	table += fmt.Sprintf("- **Lines of your own** for a Job that runs once, its result, a status and an Event: %.0f by hand,\n"+
		"  as careful does; %.0f with `onejob` and `first` of [examples/controller-runtime](examples/controller-runtime), set-up included.\n",
		lines("careful"), lines("onejob")+lines("first"))

	median := func(measure, unit, subject string) float64 {
		m, _ := figure(measure, unit, subject)
		return m
	}
	const burst, late, canary = "burst of 5,000, API takes 50 ms", "just created, watch lags 250 ms", "a Deployment of 5 becomes a canary and a Deployment again"
	table += fmt.Sprintf("- Of a burst of 5,000 failures, client-go's `tools/record` loses %.0f Events and `events` %.0f.\n",
		median(burst, "lost", "client-go tools/record"), median(burst, "lost", "ours")) +
		fmt.Sprintf("- While the watch is late, a lister reports %.0f of 1,000 new Jobs as missing, and `jobgc` %.0f.\n",
			median(late, "falsely missing", "lister"), median(late, "falsely missing", "ours")) +
		fmt.Sprintf("- From 5 pods to a canary and back, apply and delete leaves %.0f ready, and `rollout/plan` at least %.0f.\n",
			median(canary, "fewest ready pods", "apply and delete"), median(canary, "fewest ready pods", "ours"))
	generated(t, "README.md", "-run TestReadme -update -->\n", table)
}

// TestReadme_SaysWhatToClone: the go command refuses to run a program of a
// module that has a replace directive, unless it is in a clone.
func TestReadme_SaysWhatToClone(t *testing.T) {
	found := regexp.MustCompile(`Clone the repository to run ([^.:]*): each has`).FindStringSubmatch(strings.ReplaceAll(read(t, "README.md"), "\n", " "))
	require.NotNil(t, found, "README.md: write \"Clone the repository to run `examples/...`: each has a `replace`.\"")
	named := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(found[1], -1)
	var clones, modules []string
	for _, m := range named {
		clones = append(clones, m[1])
	}
	for name, body := range tracked(t, "examples/*/go.mod") {
		if regexp.MustCompile(`(?m)^replace `).Match(body) {
			modules = append(modules, path.Dir(name))
		}
	}
	assert.ElementsMatch(t, modules, clones, "README.md: name the modules of examples that have a replace directive")
}

// unindented drops the indentation, so that a function's body matches a block
// of README.
func unindented(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(strings.TrimSpace(l) + "\n")
	}
	return strings.TrimSpace(b.String())
}
