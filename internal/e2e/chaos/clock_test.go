// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTheClockIsWrong: the controller's clock is twenty minutes ahead of the
// other clocks, or behind.
func TestTheClockIsWrong(t *testing.T) {
	if !*full {
		t.Skip("only in the full set: it rebuilds the standard library")
	}
	skewed := plane
	skewed.Program = buildSkewed(t)
	cases := map[string]struct {
		reason string
		skew   time.Duration
	}{
		"Ahead":  {"No Job is deleted too early.", 20 * time.Minute},
		"Behind": {"Times of the API server are in the future for the controller, and are reported unchanged.", -20 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t)
			w.grant(t)
			w.process = skewed.Start(t, w.Stage, suite.Controller{User: w.config, Env: []string{skewVariable + "=" + tc.skew.String()}})
			assertSkewed(t, w.process, tc.skew)
			w.ready(ctx, t)
			const last = 32
			w.during(ctx, t, last, 50*time.Millisecond, func() {})
			w.holds(ctx, t, last+1)
			jobs, err := w.Kube.BatchV1().Jobs(w.Namespace).List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, jobs.Items, last+1-11, "%s A third of the runs asked for the deletion of their Jobs", tc.reason)
		})
	}
}

const skewVariable = "CLOCK_SKEW"

// buildSkewed builds the controller with a wrong clock. A variable has the
// difference. Go programs read the kernel's clock without libc, so a
// preloaded library cannot change it, and time namespaces do not change the
// wall clock. But Go can build with another source of package time, while the
// program's own code stays the same. The monotonic clock stays right, as on a
// machine with a wrong clock.
func buildSkewed(t *testing.T) (path string) {
	t.Helper()
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	source := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
	now, err := os.ReadFile(filepath.Join(source, "time.go"))
	require.NoError(t, err)
	const reads = "\tsec, nsec, mono := runtimeNow()\n"
	require.Equal(t, 1, bytes.Count(now, []byte(reads)), "time.Now reads the clock in one place; Go has changed: look at %s", source)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(source, "time.go"): write("time.go.txt", strings.Replace(string(now), reads, reads+"\tsec += skew\n", 1)),
		filepath.Join(source, "skew.go"): write("skew.go.txt", `package time

import "syscall"

var skew = func() int64 {
	text, _ := syscall.Getenv("`+skewVariable+`")
	d, _ := ParseDuration(text)
	return int64(d / Second)
}()
`),
	}})
	require.NoError(t, err)
	path, err = rig.Build(t.Context(), dir, "-overlay="+write("overlay.json", string(overlay)))
	require.NoError(t, err)
	return path
}

// assertSkewed checks in the log that the process uses the wrong time.
func assertSkewed(t *testing.T, p *rig.Process, skew time.Duration) {
	t.Helper()
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	var line struct{ Time time.Time }
	first, _, _ := bytes.Cut(log, []byte("\n"))
	require.NoError(t, json.Unmarshal(first, &line))
	assert.WithinDuration(t, time.Now().Add(skew), line.Time, 5*time.Minute)
}
