// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/demo/baseline"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// watched is how long a controller is measured with idle objects.
const watched = time.Minute

// rest is the cost of an idle controller. The CPU time and the requests are
// counted while it is watched.
type rest struct {
	cost

	requests, writes float64
}

// idling starts a controller with runs that ended long ago. It waits until the
// controller has settled and then measures it for a minute.
func (s *stand) idling(ctx context.Context, k kind, w *world) (*rest, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	c, err := k.start(ctx, s, w, false)
	if err != nil {
		return nil, err
	}
	before, err := settled(ctx, c)
	if err != nil {
		return nil, err
	}
	since := time.Now()
	pause(ctx, watched)
	after, err := now(c)
	if err != nil {
		return nil, err
	}
	all, err := s.requests(w.user, since)
	if err != nil {
		return nil, err
	}
	r := &rest{cost: after}
	r.cpu -= before.cpu
	for _, q := range all {
		r.requests++
		if q.Writes() {
			r.writes++
		}
	}
	_, err = end(c, c.Stop)
	return r, err
}

// settled waits until the controller uses almost no CPU time, because it has
// reconciled each run.
func settled(ctx context.Context, c *rig.Process) (last cost, err error) {
	err = wait.PollUntilContextCancel(ctx, 5*time.Second, false, func(context.Context) (bool, error) {
		used, err := now(c)
		isIdle := used.cpu-last.cpu < 100*time.Millisecond
		last = used
		return isIdle, err
	})
	if wait.Interrupted(err) {
		err = errors.New("the controller does not come to rest; its log is " + c.Log)
	}
	return last, err
}

// fillEnded creates n runs that failed because of their spec.
func (w *world) fillEnded(ctx context.Context, n int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	workqueue.ParallelizeUntil(ctx, creators, n, func(i int) {
		run, err := w.Runs.Create(ctx, load{kept: true}.story(i), metav1.CreateOptions{})
		if err == nil {
			baseline.Refuse(run)
			_, err = w.Runs.UpdateStatus(ctx, run, metav1.UpdateOptions{})
		}
		if err != nil {
			stop(err)
		}
	})
	return context.Cause(ctx)
}

// idle returns the measure of n idle runs. All controllers get the same runs,
// one after the other, because none writes.
func (s *stand) idle(ctx context.Context, n int) bench.Measure {
	filled := sync.OnceValues(func() (*world, error) {
		w, err := s.newWorld(ctx)
		if err != nil {
			return nil, err
		}
		return w, w.fillEnded(ctx, n)
	})
	return measure(s, fmt.Sprintf("%d idle runs, a minute", n), 1, []number[*rest]{
		{"writes", bench.Requests, func(r *rest) float64 { return r.writes }, "= 0"},
		{"requests", bench.Requests, func(r *rest) float64 { return r.requests }, ""},
		{"CPU time", "ms", func(r *rest) float64 { return float64(r.cpu.Milliseconds()) }, ""},
		{"memory at rest", "MiB", func(r *rest) float64 { return r.resident }, ""},
		{"peak memory", "MiB", func(r *rest) float64 { return r.peak }, ""},
	}, func(k kind) (*rest, error) {
		w, err := filled()
		if err != nil {
			return nil, err
		}
		return s.idling(ctx, k, w)
	})
}
