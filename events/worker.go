// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/proompteng/controllerkit/events/internal/noretry"
	"github.com/proompteng/controllerkit/internal/isnil"
)

// Requests share a deadline for so long, since to make one costs as much as to
// format a note.
const spareTime = quickTime / 4

const trialTime = 10 * time.Second // that a request in a suspect namespace may take

// run has the workers write until ctx ends or, if it is given, until done
// reports true under mu.
func (r *Recorder) run(ctx context.Context, log logr.Logger, done func() bool) {
	defer context.AfterFunc(ctx, func() { r.locked(r.changed.Broadcast) })()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { r.work(ctx, log, done) })
	}
	all.Wait()
}

func (r *Recorder) work(ctx context.Context, log logr.Logger, done func() bool) {
	conn := &connection{ctx: ctx, cancel: func() {}}
	defer func() { conn.cancel() }()
	for {
		var w *write
		var lost []loss
		r.locked(func() { w, lost = r.await(ctx, done) })
		report(log, lost)
		if w == nil && lost == nil {
			return
		}
		if w != nil {
			r.attempt(ctx, conn, log, w)
		}
	}
}

// A connection is how a worker makes requests, one after another.
type connection struct {
	once     noretry.Guard   // the caps count requests, and the Recorder waits by itself
	ctx      context.Context //nolint:containedctx // of several requests
	cancel   context.CancelFunc
	deadline instant // of ctx
}

// begin returns the context of a request of a worker, with its deadline.
func (c *connection) begin(worker context.Context, now instant, isTrial bool) context.Context {
	limit := quickTime
	if isTrial {
		limit = trialTime
	}
	left := c.deadline.since(now)
	if left < limit || left > 2*limit || c.ctx.Err() != nil {
		c.cancel()
		c.deadline = now.add(limit + spareTime)
		ctx, cancel := context.WithTimeout(worker, limit+spareTime)
		c.cancel = cancel
		c.ctx = c.once.Context(ctx, cancel)
	}
	c.once.Begin()
	return c.ctx
}

// await waits for a request to make, or for losses to log. It returns neither
// when ctx has ended or when done reports true. mu must be held.
func (r *Recorder) await(ctx context.Context, done func() bool) (w *write, lost []loss) {
	for ctx.Err() == nil && (done == nil || !done()) {
		now := r.now()
		at := never
		if done == nil || !r.running { // the workers of Start write, if there are some
			w, at = r.book.next(now, time.Now().UnixNano())
		}
		lost, next := r.book.losses.unlogged(now, r.book.closed)
		if w != nil || lost != nil {
			return w, lost
		}
		r.sleep(now, min(at, next))
	}
	r.notify() // who woke this worker expects that one of them looks for work
	return w, nil
}

// sleep waits for a change, at most until an instant. mu must be held.
func (r *Recorder) sleep(now, until instant) {
	if until == never {
		r.changed.Wait()
		return
	}
	timer := time.AfterFunc(until.since(now), func() { r.locked(r.notify) })
	r.changed.Wait()
	timer.Stop()
}

// attempt makes the request of w.
func (r *Recorder) attempt(ctx context.Context, conn *connection, log logr.Logger, w *write) {
	req := r.requestOf(w, w.begun)
	a, err := r.ask(conn.begin(ctx, r.now(), w.isTrial), req)
	switch {
	case err != nil:
		a = answer{reply: rejected, why: err.Error()}
	case a.reply == written:
		r.logWrite(req, w)
	case ctx.Err() != nil:
		a.reply = interrupted // by the caller's end: nothing is learnt from it
	case a.silent && conn.once.Answered():
		a.reply = serverFails // it asked for time
	}
	var d *detour
	r.locked(func() { d = r.book.done(r.now(), w, a) })
	r.logDetour(log, d)
}

// ask makes a request and reads the answer. It returns an error if the client,
// or an error of the client, panicked.
func (r *Recorder) ask(ctx context.Context, req *request) (a answer, err error) {
	defer catch(r.sink, &err)
	failed := r.sink.send(ctx, req)
	if isnil.Is(failed) {
		return answer{}, nil
	}
	status, _ := apiStatus(failed) // none if the Guard has cut client-go off: its retry has no answer
	wait := time.Duration(max(status.Details.RetryAfterSeconds, 0)) * time.Second
	return answer{
		reply:      read(failed, req.event != nil),
		why:        r.clean(explain(failed)),
		silent:     timedOut(failed),
		retryAfter: min(wait, retryTimeout),
	}, nil
}
