// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/demo/baseline"
)

// firstMinute is how long a controller is measured that starts with runs that
// have ended.
const firstMinute = time.Minute

// beginning is what the first minute of a controller costs.
type beginning struct {
	cost

	requests, writes float64
}

// begin starts a controller with runs that ended before, and measures its first
// minute.
func (s *stand) begin(ctx context.Context, k kind, w *world) (*beginning, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	since := time.Now()
	c, err := k.start(ctx, s, w, false)
	if err != nil {
		return nil, err
	}
	pause(ctx, time.Until(since.Add(firstMinute)))
	b := new(beginning)
	b.cost, err = now(c)
	if err != nil {
		return nil, err
	}
	all, err := s.requests(w.user, since)
	if err != nil {
		return nil, err
	}
	for _, q := range all {
		b.requests++
		if q.Writes() {
			b.writes++
		}
	}
	_, err = end(c, c.Stop)
	return b, err
}

// fillEnded creates n runs that succeeded and whose Jobs are gone.
func (w *world) fillEnded(ctx context.Context, n int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	workqueue.ParallelizeUntil(ctx, creators, n, func(i int) {
		run, err := w.Runs.Create(ctx, load{kept: true}.story(i), metav1.CreateOptions{})
		if err == nil {
			baseline.Succeed(run)
			_, err = w.Runs.UpdateStatus(ctx, run, metav1.UpdateOptions{})
		}
		if err != nil {
			stop(err)
		}
	})
	return context.Cause(ctx)
}

// afterTheEnd returns the measure of a start with n runs that have ended. All
// controllers get the same runs, one after the other, because none writes.
func (s *stand) afterTheEnd(ctx context.Context, n int) bench.Measure {
	filled := sync.OnceValues(func() (*world, error) {
		w, err := s.newWorld(ctx)
		if err != nil {
			return nil, err
		}
		return w, w.fillEnded(ctx, n)
	})
	return measure(s.kinds, fmt.Sprintf("a start with %d ended runs, the first minute", n), 1, []number[*beginning]{
		{"writes", bench.Requests, func(b *beginning) float64 { return b.writes }, "= 0"},
		{"requests", bench.Requests, func(b *beginning) float64 { return b.requests }, ""},
		{"CPU time", "ms", func(b *beginning) float64 { return float64(b.cpu.Milliseconds()) }, ""},
		{"memory in the end", "MiB", func(b *beginning) float64 { return b.resident }, ""},
		{"peak memory", "MiB", func(b *beginning) float64 { return b.peak }, ""},
	}, func(k kind) (*beginning, error) {
		w, err := filled()
		if err != nil {
			return nil, err
		}
		return s.begin(ctx, k, w)
	})
}
