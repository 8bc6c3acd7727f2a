// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math"
	"time"
)

// An instant is a point in time in the life of a Recorder, in nanoseconds of
// the monotonic clock. Zero is before the Recorder was made.
type instant int64

// never is after the end of every Recorder.
const never instant = math.MaxInt64

// add returns t plus d, and never where that is too large.
func (t instant) add(d time.Duration) instant {
	if d > 0 && t > never-instant(d) {
		return never
	}
	return t + instant(d)
}

// since returns the time that passed from u to t.
func (t instant) since(u instant) time.Duration { return time.Duration(t - u) }

// time returns t for a package that takes a time.Time. It counts from 1970, so
// only differences mean something, and no clock that is set distorts them.
func (t instant) time() time.Time { return time.Unix(0, int64(t)) }
