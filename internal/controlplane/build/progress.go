// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"io"
	"time"
)

// heartbeat is how often a running step says that it still runs.
const heartbeat = 15 * time.Second

// progress writes whole lines, so that a terminal, a file and a CI log show the
// same.
type progress struct{ w io.Writer }

// line writes one line. A writer that fails is not worth failing a build for.
func (p progress) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, "control plane: "+format+"\n", args...)
}

// step does the work. It says when the work begins, that it goes on, and how it
// ended. The error is the caller's to report.
func (p progress) step(title string, work func() error) error {
	p.line("%s", title)
	begin := time.Now()
	elapsed := func() time.Duration { return time.Since(begin).Round(time.Second) }
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			verdict := "built in"
			if err != nil {
				verdict = "failed after"
			}
			p.line("%s: %s %s", title, verdict, elapsed())
			return err
		case <-ticker.C:
			p.line("%s: still building, %s so far", title, elapsed())
		}
	}
}
