// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/proompteng/controllerkit/events/internal/caller"
)

// An engine is what all Recorders of a process share. Its queue has the objects
// about which something may be written.
type engine struct {
	sink       *Sink
	controller string // the argument of New, for log lines
	o          Options
	seed       maphash.Seed
	total      *rate.Limiter // of all requests

	mu      sync.Mutex
	changed sync.Cond // what Flush or RunWith waits for may have come

	objects     map[caller.Key]*object
	namespaces  map[string]*namespace
	seriesCount int
	server      health
	busy        int           // requests under way
	answered    chan struct{} // closed at the next answer
	probes      int           // requests in namespaces that fail
	lastNumber  int64         // in the name of an Event

	queue     objectQueue // nil while no worker runs
	isStarted bool        // by RunWith
	isClosed  bool        // RunWith has ended
	flushing  int         // how many callers wait for pending writes

	stats     Stats // Lost is in losses
	losses    losses
	lost      int64  // of all causes
	reported  counts // what OnResult knows
	isMute    atomic.Bool
	unstarted unstarted
	trouble   string    // a request that failed, until it is logged
	troubled  time.Time // when that was
	quiet     time.Time // no line about losses before it
	routed    time.Time // when the log last said that Events go to core/v1
}

func newEngine(sink *Sink, controller string, o Options) *engine {
	e := &engine{
		sink:       sink,
		controller: controller,
		o:          o,
		seed:       maphash.MakeSeed(),
		total:      perSecond(o.TotalWritesPerSecond),
		objects:    make(map[caller.Key]*object),
		namespaces: make(map[string]*namespace),
		answered:   make(chan struct{}),
		losses:     make(losses),
	}
	e.changed.L = &e.mu
	return e
}

// counts are what OnResult is called about.
type counts struct{ recorded, written, pending, lost int64 }

// locked calls f under mu, and then OnResult without it: a hook may call the
// Recorder. f calls none of the caller's code.
func (e *engine) locked(f func()) {
	was, is, isLate := e.underLock(f)
	if isLate {
		e.logUnstarted()
	}
	if e.o.OnResult == nil {
		return
	}
	emitted := is.written - was.written
	dropped := is.lost - was.lost
	pending := is.pending - was.pending
	e.callOnResult(ResultEmitted, emitted)
	e.callOnResult(ResultDropped, dropped)
	e.callOnResult(ResultAggregated, is.recorded-was.recorded-emitted-dropped-pending)
}

// underLock calls f under mu. It returns the counts that OnResult knows, the
// counts of now, and whether to log that no caller has started the engine.
func (e *engine) underLock(f func()) (was, is counts, isLate bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	was = e.reported
	is = counts{e.stats.Recorded, e.stats.Written, e.stats.Pending, e.lost}
	e.reported = is
	if e.flushing > 0 {
		e.changed.Broadcast()
	}
	if !e.unstarted.isOver {
		isLate = e.unstarted.isLate(time.Now(), is)
	}
	return was, is, isLate
}

// callOnResult calls OnResult. Its first panic is logged.
func (e *engine) callOnResult(result string, n int64) {
	if n <= 0 {
		return
	}
	var err error
	func() {
		defer caller.Catch(e.o.OnResult, &err)
		e.o.OnResult(result, n)
	}()
	if err != nil && !e.isMute.Swap(true) {
		e.logHook(err)
	}
}

// perMinute is a true bound of n in any 60 seconds. A bucket of n tokens that
// refills n a minute lets 2n-1 through in its first minute; one of (n+2)/2 that
// refills n+1-(n+2)/2 lets n through in every one.
func perMinute(n int) *rate.Limiter {
	burst := (n + 2) / 2
	refill := time.Duration(n + 1 - burst)
	// rate counts in float64. A token that comes a microsecond late keeps the
	// bound where the sum is rounded.
	interval := (time.Minute+refill-1)/refill + time.Microsecond
	return rate.NewLimiter(rate.Every(interval), burst)
}

// perSecond lets n through each second, after a burst of five seconds' worth.
func perSecond(n float64) *rate.Limiter {
	burst := max(min(5*n, 1e6), 1)
	// A nanosecond more: perMinute gives the reason. 95 years at most.
	interval := min(max(math.Ceil(1e9/n)+1, 1), 3e18)
	return rate.NewLimiter(rate.Every(time.Duration(interval)), int(burst))
}

// tokenAt returns the earliest time from now on at which l holds a token.
func tokenAt(l *rate.Limiter, now time.Time) time.Time {
	missing := 1 - l.TokensAt(now)
	if missing <= 0 {
		return now
	}
	wait := time.Duration(missing / float64(l.Limit()) * float64(time.Second))
	// The quotient may be rounded down: a microsecond later the token is there.
	return now.Add(wait + time.Microsecond)
}
