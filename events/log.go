// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"k8s.io/klog/v2"
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

// logUnstarted logs to klog: without Start no other logger exists.
func (e *engine) logUnstarted() {
	var pending, lost int64
	var details []string
	e.locked(func() {
		pending = e.book.stats.Pending
		for _, cause := range slices.Sorted(maps.Keys(e.book.losses)) {
			lost += e.book.losses[cause].total
			details = append(details, cause+": "+e.book.losses[cause].detail)
		}
	})
	safely(func() {
		klog.Background().Error(nil,
			"Nothing writes the recorded events: call RunWith, Start or Flush of the Recorder",
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

// logDetour logs that Events go to core/v1, if d is not nil.
func (e *engine) logDetour(log logr.Logger, d *detour) {
	if d == nil {
		return
	}
	safely(func() {
		log.Info("Events go to core/v1: events.k8s.io/v1 refused them",
			"for", d.length.String(), "count", d.count, "detail", d.why)
	})
}

// logWrite logs an Event that was written to Options.Logger.
func (e *engine) logWrite(req *request, w *write) {
	if e.o.Logger.GetSink() == nil {
		return
	}
	ref := w.object.ref
	note := ""
	if req.event != nil {
		note = req.event.Note
	}
	safely(func() {
		e.o.Logger.Info("Event occurred", "object", klog.KRef(ref.Namespace, ref.Name), "kind", ref.Kind,
			"apiVersion", ref.APIVersion, "type", w.series.eventtype, "reason", w.series.reason,
			"action", w.series.action, "controller", w.series.controller, "note", note, "count", w.count)
	})
}
