// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// logger returns the logger of ctx, which is the caller's code, or klog's.
func (e *engine) logger(ctx context.Context) (log logr.Logger) {
	safely(func() { log = klog.FromContext(ctx).WithValues("controller", e.controller) })
	return log
}

// safely calls f, which logs. A panic of the caller's logger costs the line.
func safely(f func()) {
	defer func() { _ = recover() }()
	f()
}

// logHook logs that OnResult panicked. The caller of a recording method passed
// no logger, so this goes to klog.
func (e *engine) logHook(err error) {
	safely(func() {
		klog.Background().Error(err, "Options.OnResult panicked, its counts are wrong",
			"controller", e.controller)
	})
}

// logUnstarted logs to klog: without RunWith or Flush no other logger exists.
func (e *engine) logUnstarted() {
	var pending, lost int64
	var details []string
	e.locked(func() {
		pending = e.stats.Pending
		for _, cause := range slices.Sorted(maps.Keys(e.losses)) {
			lost += e.losses[cause].total
			details = append(details, cause+": "+e.losses[cause].detail)
		}
	})
	safely(func() {
		klog.Background().Error(nil,
			"Nothing writes the recorded events: call RunWith or Flush of the Recorder",
			"controller", e.controller, "pending", pending, "lost", lost,
			"detail", strings.Join(details, "; "))
	})
}

// report logs what was lost. A namespace that is gone takes its Events with it.
func report(log logr.Logger, lost []loss) {
	for _, l := range lost {
		safely(func() {
			if l.cause == LostNamespaceGone {
				log.Info("Dropped events", "cause", l.cause, "count", l.unlogged, "detail", l.detail)
				return
			}
			log.Error(nil, "Dropped events", "cause", l.cause, "count", l.unlogged, "detail", l.detail)
		})
	}
}

// reportTrouble logs that a request failed and is made again.
func reportTrouble(log logr.Logger, why string, pending int64) {
	if why == "" {
		return
	}
	safely(func() {
		log.Error(nil, "Could not write an event, trying again", "detail", why, "pending", pending)
	})
}

// logScheme logs that Events about many objects will be lost.
func (e *engine) logScheme(log logr.Logger) {
	if !isnil.Is(e.o.Scheme) {
		return
	}
	safely(func() {
		log.Info("Options.Scheme is not set: Events about objects from informers and typed clients " +
			"are dropped, because these carry no kind; set it, such as to mgr.GetScheme()")
	})
}

// logRoute logs that Events go to core/v1, once an hour.
func (e *engine) logRoute(log logr.Logger, w *write, got reply) {
	if got != written || !w.core || e.sink.events == nil {
		return
	}
	isDue := false
	why := ""
	e.locked(func() {
		now := time.Now()
		isDue = now.Sub(e.routed) >= time.Hour
		why = w.object.namespace.refusal
		if isDue {
			e.routed = now
		}
	})
	if isDue {
		safely(func() {
			log.Info("Events go to core/v1: events.k8s.io/v1 refused them",
				"for", routeTime.String(), "detail", why)
		})
	}
}

// Workers may start so late after the first event.
const startTime = time.Minute

// unstarted detects a Recorder that is never started. Its events stay in
// memory, and no other line of the log would say that.
type unstarted struct {
	isOver bool      // RunWith or Flush has begun, or the log says that none has
	since  time.Time // the first pending event
}

// isLate reports once that the log must say it: a minute after the first
// pending event, or at the first loss.
func (u *unstarted) isLate(now time.Time, is counts) bool {
	if u.since.IsZero() && is.pending > 0 {
		u.since = now
	}
	isLate := !u.since.IsZero() && now.Sub(u.since) >= startTime
	u.isOver = isLate || is.lost > 0
	return u.isOver
}
