// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// reading is what the controller takes at a time.
type reading struct {
	at                time.Time
	log               int64 // bytes
	memory            int64 // resident bytes
	goroutines, fresh int   // in the end, and of a fresh controller
}

// read measures the process.
func (w *world) read(t *testing.T) reading {
	t.Helper()
	log, err := os.Stat(w.process.Log)
	require.NoError(t, err)
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", w.process.PID()))
	require.NoError(t, err)
	var size, resident int64
	_, err = fmt.Sscan(string(statm), &size, &resident)
	require.NoError(t, err)
	return reading{at: time.Now(), log: log.Size(), memory: resident * int64(os.Getpagesize())}
}

// row is what a fault did. The first five are zero, or the test fails.
type row struct {
	lost, doubled, missing, breaches, secrets int

	name, reason  string
	runs          int
	before, after reading
}

// rowOf counts what a user would notice of a fault.
func (w *world) rowOf(runs []v1alpha1.AgentRun, after reading) row {
	r := row{reason: w.reason, runs: len(runs), before: w.before, after: after}
	for i := range runs {
		if runs[i].Status.Phase != play.Truth(&runs[i]) {
			r.lost++
		}
		if runs[i].Status.Reason == "WorkflowJobMissing" {
			r.missing++
		}
	}
	breaches, _ := w.recorder.Breaches()
	for _, breach := range breaches {
		switch {
		case strings.Contains(breach, "is not the only Job"):
			r.doubled++
		case strings.Contains(breach, "it holds a secret"):
			r.secrets++
		default:
			r.breaches++
		}
	}
	return r
}

// table has a row for each fault that was survived.
var table rows

type rows struct {
	mu  sync.Mutex
	all []row
}

// add adds the row of a test that has not failed.
func (r *rows) add(t *testing.T, one row) {
	t.Helper()
	if t.Failed() {
		return
	}
	one.name = strings.ReplaceAll(strings.TrimPrefix(t.Name(), "Test"), "/", ", ")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

const intro = `# Faults

What the example's controller does while its cluster breaks, made by ` + "`make faults`" + `. Each row is a namespace with a
separate controller, on a real API server, under a load of runs; three runs end before the fault. *Lost* are runs that
ended otherwise than their Job, *doubled* are second Jobs of a run, *missing* are runs that were wrongly called
WorkflowJobMissing, *contract* are versions of an object that break a rule of the status, *secrets* are objects that
hold the value of the Secret. The log is of the whole test. Memory is what the process holds before the fault and in the
end. Goroutines are those in the end, and of a fresh controller.

Elsewhere: refusals of a megabyte, in internal/e2e; kills before and after each write, in [sieve.md](sieve.md); 10,000
runs while the API server and the controller are killed, in make e2e-soak.

| fault | runs | lost | doubled | missing | contract | secrets | log, KiB a minute | memory, MiB | goroutines |
|---|---|---|---|---|---|---|---|---|---|
`

// write writes the table in the order of the names.
func (r *rows) write(file string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.all, func(a, b row) int { return strings.Compare(a.name, b.name) })
	page := intro
	for _, one := range r.all {
		minutes := one.after.at.Sub(one.before.at).Minutes()
		logged := float64(one.after.log-one.before.log) / minutes / (1 << 10)
		fault := one.name
		if one.reason != "" {
			fault += ": " + one.reason
		}
		page += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %.0f | %d, %d | %d, %d |\n",
			fault, one.runs, one.lost, one.doubled, one.missing, one.breaches, one.secrets, logged,
			one.before.memory>>20, one.after.memory>>20, one.after.goroutines, one.after.fresh)
	}
	return os.WriteFile(file, []byte(page), 0o644) //nolint:gosec // a page of the repository
}
