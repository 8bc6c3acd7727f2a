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
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/demo/baseline"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// firstMinute is how long a controller is measured that starts with runs that
// have ended.
const firstMinute = time.Minute

// beginning is what the first minute of a controller costs.
type beginning struct {
	cost

	requests, writes float64
}

// begin starts a controller with runs that ended before, and measures its
// first minute.
func (s *stand) begin(ctx context.Context, k kind, w *world) (*beginning, error) {
	since := time.Now()
	c, err := k.start(ctx, s, w, false)
	if err != nil {
		return nil, err
	}
	play.Pause(ctx, time.Until(since.Add(firstMinute)))
	b := new(beginning)
	b.cost, err = end(c, c.Stop)
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
	return b, nil
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

// afterTheEnd returns the measure of a start with n runs that have ended. The
// controllers spend this minute at the same time, each in its own namespace.
func (s *stand) afterTheEnd(ctx context.Context, n int) bench.Measure {
	begun := sync.OnceValues(func() (map[string]*beginning, error) {
		worlds := map[string]*world{}
		for _, k := range s.kinds {
			w, err := s.newWorld(ctx)
			if err == nil {
				err = w.fillEnded(ctx, n)
			}
			if err != nil {
				return nil, err
			}
			worlds[k.name] = w
		}
		var mu sync.Mutex
		var running sync.WaitGroup
		var failed error
		all := map[string]*beginning{}
		for _, k := range s.kinds {
			running.Go(func() {
				b, err := s.begin(ctx, k, worlds[k.name])
				mu.Lock()
				defer mu.Unlock()
				all[k.name] = b
				failed = errors.Join(failed, err)
			})
		}
		running.Wait()
		return all, failed
	})
	name := fmt.Sprintf("a start with %d ended runs, the first minute", n)
	return measure(s.kinds, name, 1, []number[*beginning]{
		{"writes", bench.Requests, func(b *beginning) float64 { return b.writes }, "= 0"},
		{"requests", bench.Requests, func(b *beginning) float64 { return b.requests }, ""},
		{"CPU time", "ms", func(b *beginning) float64 { return float64(b.cpu.Milliseconds()) }, ""},
		{"memory in the end", "MiB", func(b *beginning) float64 { return b.resident }, ""},
		{"peak memory", "MiB", func(b *beginning) float64 { return b.peak }, ""},
	}, func(k kind) (*beginning, error) {
		all, err := begun()
		return all[k.name], err
	})
}
