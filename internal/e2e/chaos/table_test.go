// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
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

// unwarned is how many failed runs have no Warning.
func (w *world) unwarned(runs []v1alpha1.AgentRun) (n int) {
	for i := range runs {
		if runs[i].Status.Phase == v1alpha1.Failed && !w.recorder.HasWarning(runs[i].UID) {
			n++
		}
	}
	return n
}

// awaitWarnings waits until each failed run has a Warning, and not as long as
// suite.Eventually, so that the line of a test that fails is written.
func (w *world) awaitWarnings(t *testing.T, runs []v1alpha1.AgentRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for w.unwarned(runs) > 0 && ctx.Err() == nil {
		suite.Wait(ctx, time.Second)
	}
	assert.Zero(t, w.unwarned(runs), "failed runs without a Warning")
}

// addLine adds what a user would notice of a fault to the table. All numbers
// from the results lost to the secrets are zero, or the test fails, except that
// of the Events if the controller was killed.
func (w *world) addLine(t *testing.T, runs []v1alpha1.AgentRun, after reading) {
	t.Helper()
	if *tableFile == "" {
		return
	}
	if !w.wasKilled {
		w.awaitWarnings(t, runs)
	}
	var lost, doubled, missing, broken, secrets int
	for i := range runs {
		if runs[i].Status.Phase != play.Truth(&runs[i]) {
			lost++
		}
		if runs[i].Status.Reason == "WorkflowJobMissing" {
			missing++
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
	if t.Failed() {
		fault += " The test failed."
	}
	minutes := after.at.Sub(w.before.at).Minutes()
	logged := float64(after.log-w.before.log) / minutes / (1 << 10)
	line := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %.0f | %d, %d | %d, %d |\n",
		fault, len(runs), lost, doubled, missing, w.unwarned(runs), broken, secrets, w.busiest(t), logged,
		w.before.memory>>20, after.memory>>20, after.goroutines, after.fresh)
	file, err := os.OpenFile(*tableFile, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.WriteString(line)
	require.NoError(t, err)
}

// beginTable creates the table, unless another process of the suite has. A test
// that ends adds its line, so that one that hangs costs only its own.
func beginTable() error {
	const head = "| fault | runs | results lost | second Jobs | falsely missing | Events lost | contract | secrets " +
		"| requests a second | log, KiB a minute | memory, MiB | goroutines |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
	file, err := os.OpenFile(*tableFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // a page of the repository
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	_, err = file.WriteString(head)
	return errors.Join(err, file.Close())
}
