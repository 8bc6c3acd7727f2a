// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Process is a controller process that has just begun. What it keeps in memory
// is reachable from its functions alone.
type Process struct {
	// Reconcile is one call of the code under test. It returns how long it
	// wants to wait for the next call; zero is until the next change. It sends its
	// requests from its own goroutine.
	Reconcile func(ctx context.Context) (after time.Duration, err error)

	// Memory describes what the process remembers between two calls. It may call
	// time.Now. Two processes with the same text behave alike. Nil, or an empty
	// text, means that it remembers nothing.
	Memory func() string
}

// outcome is how far a process has come.
type outcome struct {
	pending  *pending // nil: the call has returned
	after    time.Duration
	err      error
	memory   string
	read     []uint64  // what the call has read from caches
	versions []*Object // the objects of these reads
	broken   error
}

// replay plays the life of a process up to its next request, or to the return
// of its last call.
func replay(t *testing.T, begin func(*API) Process, life []entry) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := &API{life: life, at: -1}
		process := begin(api)
		for api.pending == nil && api.broken == nil && api.at+1 < len(life) {
			api.at++
			began := life[api.at]
			time.Sleep(time.Until(began.now)) //nolint:forbidigo // in the bubble
			api.caches = began.caches
			api.unseen = began.unseen
			api.read = nil
			api.versions = nil
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				o.after, o.err = process.Reconcile(ctx)
			}()
			<-ended
		}
		o.pending = api.pending
		o.broken = api.broken
		o.read = api.read
		o.versions = api.versions
		if o.pending == nil && process.Memory != nil {
			o.memory = process.Memory()
		}
	})
	return o
}

// Began is the time at which a cluster begins: the start of a bubble of
// testing/synctest.
func Began() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }
