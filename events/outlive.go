// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"sync"
)

// Outlive calls run with ctx, as a manager's Start is called, and writes events for as long as it runs: a Start that ends after run has
// returned, so that what is recorded last, while everything ends, is written too. It returns what run and Start returned.
//
// It is for whatever stops its parts by itself: the Run of a controller that returns when its workers have ended, or a manager.
// A manager of controller-runtime stops what mgr.Add was given without a need for leadership before it stops the reconcilers,
// and waits for it.
func (r *Recorder) Outlive(ctx context.Context, run func(ctx context.Context) error) error {
	writing, drain := context.WithCancel(context.WithoutCancel(ctx))
	var lost error
	var writer sync.WaitGroup
	writer.Go(func() { lost = r.Start(writing) })
	defer writer.Wait() // also where run panics
	defer drain()
	err := run(ctx)
	drain()
	writer.Wait()
	return errors.Join(err, lost)
}
