// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"sync"
)

// RunWith calls run with ctx, as a manager's Start is called, and writes events
// until run has returned. The last reconciles, while everything ends, have
// their events written too. It returns the errors of run and of
// [Recorder.Start], joined.
//
// Use it with a function that stops its parts by itself: the Run of a
// controller that returns when its workers have ended, or the Start of a
// manager. Do not use mgr.Add: controller-runtime stops a Runnable that needs
// no leader election before it stops the reconcilers.
func (r *Recorder) RunWith(ctx context.Context, run func(ctx context.Context) error) error {
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
