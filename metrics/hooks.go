// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"slices"
	"time"
)

// What becomes of an event. The last entry stands for any other word.
const (
	fateOther = 3
	fateCount = 4
)

func fates() [fateCount]string { return [...]string{"emitted", "aggregated", "dropped", other} }

// Events counts n events by fate: "emitted", "aggregated" (into a series) or "dropped"; any other word counts as "other".
// The method value fits the field Observe of events.Options. n below 1 counts nothing.
func (c *Controller) Events(fate string, n int64) {
	if c == nil || n < 1 {
		return
	}
	words := fates()
	i := slices.Index(words[:fateOther], fate)
	if i < 0 {
		i = fateOther
	}
	c.events[i].Add(n)
}

// What a status commit did. The last entry stands for any other word.
const (
	writeUnchanged = 0
	writeOther     = 9
	writeCount     = 10
)

func writes() [writeCount]string {
	return [...]string{"unchanged", "written", "merged", "gone", "superseded", "replaced", "overlap", "conflict", "error", other}
}

// StatusWrite counts one commit of an object's status by result, in the words of package status: "unchanged", "written",
// "merged" (after a conflict) and "gone"; "superseded", "replaced", "overlap", "conflict" and "error" for one that failed. Any
// other word counts as "other". The method value fits the OnCommit field of status.Writer. The duration of unchanged
// commits is not recorded, since they do not reach the API server; a negative one counts as zero.
func (c *Controller) StatusWrite(result string, took time.Duration) {
	if c == nil {
		return
	}
	words := writes()
	i := slices.Index(words[:writeOther], result)
	if i < 0 {
		i = writeOther
	}
	c.writes[i].Add(1)
	if i != writeUnchanged {
		record(background(), c.m.inst.statusWriteDuration, took, c.options.record)
	}
}

// background is the context of measurements whose caller has none, because the hook they come from passes none.
func background() context.Context {
	return context.Background() //nolint:forbidigo // there is no caller's context, and no call to bound by one
}
