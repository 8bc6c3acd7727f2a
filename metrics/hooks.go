// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"
)

// What becomes of an event. The last entry stands for any other word.
const (
	fateOther = 3
	fateCount = 4
)

func fates() [fateCount]string { return [...]string{"emitted", "aggregated", "dropped", other} }

// Events counts n events by fate: "emitted", "aggregated" (into a series) or "dropped"; any other word counts as "other".
// The method value fits the Observe option of package events. n below 1 counts nothing.
func (c *Controller) Events(fate string, n int64) {
	if c == nil || n < 1 {
		return
	}
	i := fateOther
	switch fate {
	case "emitted":
		i = 0
	case "aggregated":
		i = 1
	case "dropped":
		i = 2
	}
	c.events[i].Add(n)
}

// What a status commit did. The last entry stands for any other word.
const (
	writeUnchanged = 0
	writeOther     = 5
	writeCount     = 6
)

func writes() [writeCount]string {
	return [...]string{"unchanged", "written", "merged", "gone", "error", other}
}

// StatusWrite counts one commit of an object's status by result: "unchanged", "written", "merged" (after a conflict),
// "gone" or "error"; any other word counts as "other". The method value fits the OnCommit option of package status.
// The duration of unchanged commits is not recorded, since they do not reach the API server.
func (c *Controller) StatusWrite(result string, took time.Duration) {
	if c == nil {
		return
	}
	i := writeOther
	switch result {
	case "unchanged":
		i = writeUnchanged
	case "written":
		i = 1
	case "merged":
		i = 2
	case "gone":
		i = 3
	case "error":
		i = 4
	}
	c.writes[i].Add(1)
	if i != writeUnchanged {
		c.m.inst.statusWriteDuration.Record(background(), max(0, took).Seconds(), c.options.record...)
	}
}

// background is the context of measurements whose caller has none, because the hook they come from passes none.
func background() context.Context {
	return context.Background() //nolint:forbidigo // there is no caller's context, and no call to bound by one
}
