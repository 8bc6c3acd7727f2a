// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/status"
)

// account runs a load on a controller and returns its numbers.
func (s *stand) account(ctx context.Context, k kind, l load) (*account, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute+time.Duration(l.runs)*time.Second)
	defer cancel()
	w, err := s.newWorld(ctx)
	if err != nil {
		return nil, err
	}
	var jobs play.Jobs
	if _, err := w.Watch(ctx, func(_, is any) { jobs.Change(is) }); err != nil {
		return nil, err
	}
	h := &hands{stand: s, world: w, kind: k}
	if err := h.start(ctx, l.fault == theLeader); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := w.fill(ctx, l, func() error { return h.kill(ctx, l.fault) }); err != nil {
		return nil, err
	}
	// Far more than either needs, also on a busy machine, so that nothing is
	// counted as missing because it is late.
	runs, err := w.ended(ctx, l.runs, 3*time.Minute+time.Duration(l.runs)*time.Second/2)
	if err != nil {
		return nil, err
	}
	a := &account{finished: time.Since(began), missing: l.runs - len(runs)}
	for _, run := range runs {
		switch {
		case run.Status.Phase.Progress() != status.Done:
			a.missing++
		case run.Status.Phase != play.Truth(&run):
			a.wrong++
		}
	}
	// An Event, and the release of the Job, may be later than the end of the run.
	if _, err := w.withoutEvent(ctx, runs, l.eventsWithin()); err != nil {
		return nil, err
	}
	if err := w.released(ctx, time.Minute); err != nil {
		return nil, err
	}
	if a.cost, err = h.stop(); err != nil {
		return nil, err
	}
	if a.silent, err = w.withoutEvent(ctx, runs, time.Nanosecond); err != nil {
		return nil, err
	}
	all, err := s.requests(w.user, time.Time{})
	a.count(all, h.killed)
	_, again := jobs.Count()
	a.doubled = max(len(again), a.jobs-l.runs) // a restarted watch misses a Job that existed only in between
	return a, err
}

// count adds the requests. A replica that waits for the lease writes only the
// lease, so the first other write after the leader's death is from the other
// replica. The API server may handle the leader's last requests a little later,
// but no lease expires within a second.
func (a *account) count(all []controlplane.Request, killed time.Time) {
	a.requests = len(all)
	for _, r := range all {
		if r.Verb == "create" && r.For.Resource == "jobs" && r.Done() {
			a.jobs++
		}
		if r.Writes() {
			a.countWrite(r, r.At.Sub(killed))
		}
	}
}

// countWrite adds a write, at some time after the leader's death.
func (a *account) countWrite(r controlplane.Request, since time.Duration) {
	if r.For.Resource != "leases" {
		a.writes++
	}
	works := r.For.Resource == "jobs" || r.For.Resource == "agentruns"
	if !works || since <= time.Second {
		return
	}
	if a.takeover == 0 || since < a.takeover {
		a.takeover = since
	}
}

// hands are the controllers of a world.
type hands struct {
	*stand

	world  *world
	kind   kind
	used   cost // by processes that have ended
	live   []*rig.Process
	killed time.Time // the time of the last kill
}

// start starts a controller, or two. The first becomes the leader.
func (h *hands) start(ctx context.Context, elect bool) error {
	if err := h.one(ctx, elect); err != nil || !elect {
		return err
	}
	leases := h.world.Kube.CoordinationV1().Leases(h.world.Namespace)
	leads := func(ctx context.Context) (bool, error) { // ready is not yet elected
		lease, err := leases.Get(ctx, leaseName, metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", nil
	}
	if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, leads); err != nil {
		return fmt.Errorf("%v: no replica leads: %w", h.kind.command, err)
	}
	return h.one(ctx, elect)
}

func (h *hands) one(ctx context.Context, elect bool) error {
	c, err := h.kind.start(ctx, h.stand, h.world, elect)
	if err == nil {
		h.live = append(h.live, c)
	}
	return err
}

// kill sends SIGKILL to the process of a fault and restarts it. It does not
// restart a leader, because the other replica continues.
func (h *hands) kill(ctx context.Context, f fault) error {
	if f == theAPIServer {
		if err := h.plane.APIServer.Kill(); err != nil {
			return err
		}
		play.Pause(ctx, time.Second)
		return h.plane.APIServer.Start(ctx)
	}
	used, err := end(h.live[0], h.live[0].Kill)
	if err != nil {
		return err
	}
	h.killed, h.live = time.Now(), h.live[1:]
	h.used.add(used)
	if f == theLeader {
		return nil
	}
	play.Pause(ctx, 3*time.Second) // as if its node failed: a replacement takes a while to start
	return h.one(ctx, false)
}

// stop ends the running processes and returns what all have used.
func (h *hands) stop() (cost, error) {
	for _, c := range h.live {
		used, err := end(c, c.Stop)
		if err != nil {
			return cost{}, err
		}
		h.used.add(used)
	}
	return h.used, nil
}

// add adds the cost of one process.
func (c *cost) add(more cost) { c.cpu, c.peak = c.cpu+more.cpu, max(c.peak, more.peak) }

// fill creates the runs. Each time a further fifth of them has ended, it kills:
// the process is then at work. No kill waits for the last two fifths, because
// the usual controller loses a third.
func (w *world) fill(ctx context.Context, l load, kill func() error) error {
	var creating sync.WaitGroup
	defer creating.Wait()
	creating.Go(func() {
		workqueue.ParallelizeUntil(ctx, creators, l.runs, func(i int) { w.create(ctx, l, i) })
	})
	for k := range l.kills {
		if _, err := w.ended(ctx, l.runs*(k+1)/5, time.Minute); err != nil {
			return err
		}
		if err := kill(); err != nil {
			return err
		}
	}
	return nil
}

// create creates a run. It repeats a failed request until the run exists.
func (w *world) create(ctx context.Context, l load, i int) {
	_ = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := w.Runs.Create(ctx, l.story(i), metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), nil
	})
	if l.fault != nothing {
		// Otherwise all runs would exist before the end of the first kill.
		play.Pause(ctx, 100*time.Millisecond)
	}
}
