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

	"github.com/proompteng/controllerkit/examples/agentrun/rig"
)

// TestTheClockIsWrong: the controller's clock is twenty minutes ahead of everyone else's, or behind.
func TestTheClockIsWrong(t *testing.T) {
	if !*full {
		t.Skip("only in the whole set: it builds the standard library anew")
	}
	skewed := buildSkewed(t)
	cases := map[string]struct{ reason, seconds string }{
		"Ahead":  {"Nothing is over before it is: no Job goes before its time.", "1200"},
		"Behind": {"What happened seems to be in the future, and is told as it is.", "-1200"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t)
			w.grant(t, role)
			w.process = launch(t, skewed, w.config, w.args, skewVariable+"="+tc.seconds)
			assertSkewed(t, w.process, tc.seconds)
			w.ready(ctx, t)
			const last = 32
			w.during(ctx, t, last, 50*time.Millisecond, func() {})
			w.holds(ctx, t, last+1)
			jobs, err := w.Kube.BatchV1().Jobs(w.Namespace).List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, jobs.Items, last+1-11, "%s Those of a third of the runs went as they were told to", tc.reason)
		})
	}
}

const skewVariable = "CLOCK_SKEW_SECONDS"

// buildSkewed builds the controller with a clock that is wrong by so many seconds as a variable says. Go programs ask the kernel for the
// time without libc, so that a preloaded library does not reach them, and time namespaces leave the wall clock alone. But Go can build
// with another source of package time: all of the program's own code is as ever. The monotonic clock stays right, as it does on a machine
// whose clock is wrong.
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

var skew = func() (n int64) {
	text, _ := syscall.Getenv("`+skewVariable+`")
	sign := int64(1)
	for _, c := range text {
		if c == '-' {
			sign = -1
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return sign * n
}()
`),
	}})
	require.NoError(t, err)
	path, err = rig.Build(t.Context(), dir, "-overlay="+write("overlay.json", string(overlay)))
	require.NoError(t, err)
	return path
}

// assertSkewed checks that the process believes in the wrong time: its log tells.
func assertSkewed(t *testing.T, p *rig.Process, seconds string) {
	t.Helper()
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	var line struct{ Time time.Time }
	first, _, _ := bytes.Cut(log, []byte("\n"))
	require.NoError(t, json.Unmarshal(first, &line))
	skew, err := time.ParseDuration(seconds + "s")
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(skew), line.Time, 5*time.Minute)
}
