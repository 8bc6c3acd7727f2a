// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// actor is who makes a write.
type actor string

const (
	byController actor = "controller"
	byCluster    actor = "cluster"
	byUser       actor = "user"
)

// point is a write: the nth of its kind in a run.
type point struct {
	by       actor
	verb     string
	resource string // with its subresource
	nth      int
}

func (p point) String() string {
	return fmt.Sprintf("%s %s %s #%d", p.by, p.verb, p.resource, p.nth)
}

// base is the resource without its subresource.
func (p point) base() string {
	resource, _, _ := strings.Cut(p.resource, "/")
	return resource
}

// pattern is what a plan does to the controller.
type pattern string

const (
	healthy     pattern = "none"
	crashBefore pattern = "killed before a write"
	crashAfter  pattern = "killed after a write"
	stale       pattern = "restarted with an old cache"
	hidden      pattern = "an event is hidden"
)

func patterns() []pattern { return []pattern{crashBefore, crashAfter, stale, hidden} }

// plan is one fault in a run of a story.
type plan struct {
	story   *story
	pattern pattern
	at      point
	from    point // stale: the cache is from before this write
}

func (p plan) String() string {
	text := fmt.Sprintf("%s: %s: %s", p.story.Name, p.pattern, p.at)
	if p.pattern == stale {
		text += fmt.Sprintf(", from before %s", p.from)
	}
	return text
}

const (
	restartTakes = time.Second      // until a killed controller runs again
	staysStale   = time.Minute      // until its caches see what happens
	staysHidden  = 5 * time.Minute  // until its watches expire, and it lists again
	horizon      = 20 * time.Minute // then everything has ended
)

// plans generates all plans from the changes of a run without faults.
func plans(of *story, log []change) (all []plan) {
	for i, c := range log {
		if c.by == byController {
			all = append(all, plan{story: of, pattern: crashBefore, at: c.point})
			all = append(all, plan{story: of, pattern: crashAfter, at: c.point})
		}
		isCached := c.base() == runs || c.base() == jobs
		if !isCached {
			continue
		}
		all = append(all, plan{story: of, pattern: hidden, at: c.point})
		for _, later := range log[i:] {
			all = append(all, plan{story: of, pattern: stale, at: later.point, from: c.point})
		}
	}
	return all
}

// world plays one plan.
type world struct {
	*server

	controller contestant
	plan       plan
	ctx        context.Context
	ended      sync.WaitGroup
	running    *process
	kill       context.CancelFunc
	reached    bool // the point of the plan
	acted      bool
	errs       []error
}

// play plays a plan in virtual time.
func play(t *testing.T, c contestant, p plan) (w *world) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w = &world{server: newServer(), controller: c, plan: p, ctx: t.Context()}
		w.server.before = w.before
		w.server.after = w.after
		w.start(0, false)
		time.Sleep(time.Second)
		createRun(w.server, p.story)
		time.Sleep(horizon)
		w.end()
		synctest.Wait()
	})
	return w
}

// end kills the last process and waits for all.
func (w *world) end() {
	w.mu.Lock()
	w.kill()
	w.mu.Unlock()
	w.ended.Wait()
}

// start starts a process of the controller.
func (w *world) start(frozenAt int, isFrozen bool) {
	life, kill := context.WithCancel(w.ctx)
	p := &process{server: w.server, life: life, isFrozen: isFrozen, frozenAt: frozenAt}
	if isFrozen {
		time.AfterFunc(staysStale, p.thaw)
	}
	w.mu.Lock()
	w.kill = kill
	w.running = p
	w.mu.Unlock()
	w.ended.Go(func() {
		err := w.controller.start(life, config(p))
		if life.Err() == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.errs = append(w.errs, err)
		}
	})
}

// restart kills the process and starts the next one. The caller holds the lock.
func (w *world) restart(frozenAt int, isFrozen bool) {
	w.reached = true
	w.kill()
	time.AfterFunc(restartTakes, func() { w.start(frozenAt, isFrozen) })
}

// before is called before each write.
func (w *world) before(at point) error {
	if w.plan.pattern == crashBefore && at == w.plan.at && !w.reached {
		w.restart(0, false)
		return errKilled
	}
	return nil
}

// after is called after each change.
func (w *world) after(c change) {
	clusterReacts(w.server, c)
	w.userReacts(c)
	if c.point != w.plan.at || w.reached {
		return
	}
	switch w.plan.pattern {
	case crashAfter:
		w.restart(0, false)
	case stale:
		w.restart(w.versionBefore(w.plan.from), true)
	case hidden:
		w.reached = true
		w.running.hidden = c.version
		time.AfterFunc(staysHidden, w.running.expire)
	default: // nothing happens after a write
	}
}

// versionBefore is the version of the store before a write.
func (w *world) versionBefore(at point) int {
	for i, c := range w.history {
		if c.point == at {
			return i
		}
	}
	return len(w.history)
}

// userReacts lets the user of the story act once.
func (w *world) userReacts(c change) {
	if w.acted || !w.plan.story.isDue(c) {
		return
	}
	w.acted = true
	time.AfterFunc(userAct, func() { w.ask(w.plan.story.Then) })
}
