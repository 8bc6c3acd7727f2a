// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// Start may be called so late after the first event.
const startTime = time.Minute

// unstarted detects a Recorder that is never started. Its events stay in
// memory, and no other line of the log would say that.
type unstarted struct {
	begun  bool    // by Start or Flush
	since  instant // the first pending event; 0 while there is none
	logged bool
}

// due reports once, before begun, that the log must say it: a minute after the
// first pending event, or at the first loss.
func (u *unstarted) due(now instant, pending int64, lost bool) bool {
	if u.logged {
		return false
	}
	if u.since == 0 && pending > 0 {
		u.since = now
	}
	late := u.since > 0 && now.since(u.since) >= startTime
	u.logged = late || lost
	return u.logged
}

// logUnstarted logs to klog: without Start there is no other logger.
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
