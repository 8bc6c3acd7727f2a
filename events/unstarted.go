// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

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
