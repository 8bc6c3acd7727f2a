// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// fate is the end of a Job, as far as the Guard has seen it.
type fate string

const (
	fateUnknown  fate = ""
	fateRemoved  fate = "removed"  // its deletion was seen
	fateReturned fate = "returned" // it is there again: the API server's store was restored
)

// past is what the Guard remembers of one Job. It is not safe for concurrent
// use.
type past struct {
	uid      types.UID
	since    time.Time // when it was first remembered
	fate     fate
	last     Observation // once it had finished, without the Job
	released bool        // it was removed after its release
	removed  time.Time
	absent   time.Time // when its run had ended, and the cache first lacked it
	missed   time.Time // when a live read first did not find it
	sent     time.Time // when its release was sent
	sentFor  jobFacts  // the copy in the cache at that time
	loss     State     // that a live read of the owner has confirmed
	givenAt  time.Time // when a call first returned its new Ref
	given    wish      // whether it was to be suspended, when a call last returned its new Ref
}

// recollection is what the machine learns of a past. The zero value is a Job
// that the Guard does not remember.
type recollection struct {
	uid       types.UID
	fate      fate
	outcome   Outcome
	released  bool
	lately    bool     // it was removed a moment ago
	absent    wait     // for its delete event, since the cache lacks it
	missed    bool     // a live read has not found it
	eventOver bool     // its delete event has come, or there is none
	sentFor   jobFacts // the copy in the cache when its release was sent, lately
	loss      State
	unsure    bool // a creation under this name has got no answer
	given     wish // whether it was to be suspended, when a call returned its new Ref a moment ago
}

// wait is how far the wait for a delete event is.
type wait string

const (
	waitNone wait = ""
	waitRuns wait = "runs"
	waitOver wait = "over"
)

func waitSince(t, now time.Time) wait {
	switch {
	case t.IsZero():
		return waitNone
	case now.Sub(t) < settleTime:
		return waitRuns
	}
	return waitOver
}

const (
	// cacheLag is how long a cache may lag behind without a live read.
	cacheLag = 10 * time.Second

	// settleTime is how long a Job must have been known to be gone before it is
	// declared lost. The cache drops a Job before the handlers receive the
	// delete event, and that event may carry the outcome.
	settleTime = time.Second

	// sentLately is how long a release is not sent again while the cache shows
	// the Job as before. client-go makes a broken watch again within a minute,
	// and to restore the API server's store takes longer than that.
	sentLately = time.Minute
)

// at resolves the times of a past.
func (p past) at(now time.Time) recollection {
	within := func(t time.Time, d time.Duration) bool { return !t.IsZero() && now.Sub(t) < d }
	out := recollection{
		uid:       p.uid,
		fate:      p.fate,
		outcome:   p.last.Outcome,
		released:  p.released,
		lately:    within(p.removed, cacheLag),
		absent:    waitSince(p.absent, now),
		missed:    !p.missed.IsZero(),
		eventOver: waitSince(p.missed, now) == waitOver,
		loss:      p.loss,
	}
	if within(p.givenAt, cacheLag) {
		out.given = p.given
	}
	if within(p.sent, sentLately) {
		out.sentFor = p.sentFor
	}
	return out
}

// sees is the past after Step has seen a Job whose owner may not have recorded
// it.
func (p past) sees(last Observation) past {
	if last.State == Finished {
		last.Job = nil
		p.last = last
	}
	return p
}

// isRemoved is the past after the deletion of the Job was seen.
func (p past) isRemoved(last Observation, released bool, now time.Time) past {
	p.fate = fateRemoved
	p.removed = now
	p.released = released
	if last.State == Finished {
		last.Job = nil
		p.last = last
	}
	return p
}

// isBack is the past after the Job was seen again. The memory of its first life
// does not hold for the second one.
func (p past) isBack() past {
	return past{uid: p.uid, since: p.since, fate: fateReturned}
}

// keeps is the past after what the machine has noted.
func (p past) keeps(n notes, now time.Time) past {
	if n.missed && p.missed.IsZero() {
		p.missed = now
	}
	if n.absent && p.absent.IsZero() {
		p.absent = now
	}
	if n.loss != "" {
		p.loss = n.loss
	}
	if n.given != wishNone {
		p.given = n.given
		if p.givenAt.IsZero() {
			p.givenAt = now
		}
	}
	if n.agreed && p.fate == fateReturned { // it may have gone during the read
		p.fate = fateUnknown
	}
	if n.sent.uid != "" {
		p.sent = now
		p.sentFor = n.sent
	}
	return p
}
