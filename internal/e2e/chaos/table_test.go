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

// table has a line for each fault that was survived.
var table struct {
	mu    sync.Mutex
	lines []string
}

// busiest is how many requests the controller made in any second of the test.
func (w *world) busiest(t *testing.T) int {
	t.Helper()
	var at []time.Time
	for _, r := range w.requests(t) {
		at = append(at, r.At.Time)
	}
	slices.SortFunc(at, time.Time.Compare)
	most := 0
	first := 0
	for last := range at {
		for at[last].Sub(at[first]) >= time.Second {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// addLine adds what a user would notice of a fault, unless the test has failed.
// All numbers from the results lost to the secrets are zero, or the test fails,
// except that of the Events.
func (w *world) addLine(t *testing.T, runs []v1alpha1.AgentRun, after reading) {
	t.Helper()
	if t.Failed() {
		return
	}
	var lost, doubled, missing, silent, broken, secrets int
	for i := range runs {
		if runs[i].Status.Phase != play.Truth(&runs[i]) {
			lost++
		}
		if runs[i].Status.Reason == "WorkflowJobMissing" {
			missing++
		}
		if runs[i].Status.Phase == v1alpha1.Failed && !w.recorder.HasWarning(runs[i].UID) {
			silent++
		}
	}
	for _, breach := range w.recorder.Breaches() {
		switch {
		case strings.Contains(breach, "is not the only Job"):
			doubled++
		case strings.Contains(breach, "it holds a secret"):
			secrets++
		default:
			broken++
		}
	}
	fault := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "Test"), "/", ", ")
	if w.reason != "" {
		fault += ": " + w.reason
	}
	minutes := after.at.Sub(w.before.at).Minutes()
	logged := float64(after.log-w.before.log) / minutes / (1 << 10)
	line := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %.0f | %d, %d | %d, %d |\n",
		fault, len(runs), lost, doubled, missing, silent, broken, secrets, w.busiest(t), logged,
		w.before.memory>>20, after.memory>>20, after.goroutines, after.fresh)
	table.mu.Lock()
	defer table.mu.Unlock()
	table.lines = append(table.lines, line)
}

// writeTable writes the lines in the order of the names.
func writeTable(file string) error {
	const head = "| fault | runs | results lost | second Jobs | falsely missing | Events lost | contract | secrets " +
		"| requests a second | log, KiB a minute | memory, MiB | goroutines |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
	slices.Sort(table.lines)
	page := head + strings.Join(table.lines, "")
	return os.WriteFile(file, []byte(page), 0o644) //nolint:gosec // a page of the repository
}
