// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is how often a running step says that it still runs.
const heartbeat = 15 * time.Second

// progress writes whole lines, so that a terminal, a file and a CI log show the
// same.
type progress struct {
	mu sync.Mutex
	w  io.Writer
}

func newProgress(w io.Writer) *progress {
	if w == nil {
		w = io.Discard
	}
	return &progress{w: w}
}

// line writes one line. A writer that fails is not worth failing a build for.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.w, "control plane: "+format+"\n", args...)
}

// step announces step k of n, and beats until it ends.
func (p *progress) step(k, n int, name string) *step {
	s := &step{log: p, title: fmt.Sprintf("step %d of %d: %s", k, n, name), start: time.Now(), stop: make(chan struct{})}
	p.line("%s", s.title)
	s.done.Go(s.beat)
	return s
}

// step is one line of work that is under way.
type step struct {
	log   *progress
	title string
	start time.Time
	stop  chan struct{}
	done  sync.WaitGroup
}

func (s *step) beat() {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.log.line("%s: still building, %s so far", s.title, s.elapsed())
		}
	}
}

// end says how the step went; the error itself is the caller's to report.
func (s *step) end(err error) {
	close(s.stop)
	s.done.Wait()
	verdict := "built in"
	if err != nil {
		verdict = "failed after"
	}
	s.log.line("%s: %s %s", s.title, verdict, s.elapsed())
}

func (s *step) elapsed() string {
	return fmt.Sprintf("%d s", int(time.Since(s.start).Round(time.Second)/time.Second))
}

// estimate says how long a cold build of the programs takes on so many cores.
// Compiling spreads over the cores, but linking does not: more than eight help
// no further.
func estimate(programs []program, cores int) string {
	seconds := 0
	for _, p := range programs {
		seconds += p.seconds
	}
	seconds = seconds * 2 / min(max(cores, 1), 8)
	if seconds < 60 {
		return fmt.Sprintf("%d s", max(seconds, 1))
	}
	return fmt.Sprintf("%d min", (seconds+59)/60)
}
