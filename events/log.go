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
func (r *Recorder) logger(ctx context.Context) (log logr.Logger) {
	safely(func() { log = klog.FromContext(ctx).WithValues("controller", r.controller) })
	return log
}

// safely calls f, which logs. A panic of the caller's logger costs the line.
func safely(f func()) {
	defer func() { _ = recover() }()
	f()
}

// logHook logs that OnResult panicked. The caller of a recording method passed
// no logger, so this goes to klog.
func (r *Recorder) logHook(err error) {
	safely(func() {
		klog.Background().Error(err, "Options.OnResult panicked, its counts are wrong", "controller", r.controller)
	})
}

// logUnstarted logs to klog: without Start no other logger exists.
func (r *Recorder) logUnstarted() {
	var pending, lost int64
	var details []string
	r.locked(func() {
		pending = r.stats.Pending
		for _, cause := range slices.Sorted(maps.Keys(r.losses)) {
			lost += r.losses[cause].total
			details = append(details, cause+": "+r.losses[cause].detail)
		}
	})
	safely(func() {
		klog.Background().Error(nil, "Nothing writes the recorded events: call RunWith, Start or Flush of the Recorder",
			"controller", r.controller, "pending", pending, "lost", lost, "detail", strings.Join(details, "; "))
	})
}
