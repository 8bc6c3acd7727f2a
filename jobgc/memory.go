// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// copied is a copy of a Job in the cache.
type copied struct {
	uid     types.UID
	version string
}

// noteSent remembers that a release was sent, until the cache shows another
// copy of the Job.
func (g *Guard[J]) noteSent(job *batchv1.Job) {
	if g.store != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.sent.put(copied{job.UID, job.ResourceVersion}, g.now())
	}
}

func (g *Guard[J]) sentLately(job *batchv1.Job) bool {
	if job == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at, sent := g.sent.get(copied{job.UID, job.ResourceVersion})
	return sent && g.now().Sub(at) < g.opts.CacheLagTimeout
}

// noteLoss remembers that a live read of the owner has confirmed the loss of a
// Job.
func (g *Guard[J]) noteLoss(uid types.UID, loss State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost.put(uid, loss)
}

// provenLoss is the loss that noteLoss remembers.
func (g *Guard[J]) provenLoss(uid types.UID) State {
	g.mu.Lock()
	defer g.mu.Unlock()
	loss, _ := g.lost.get(uid)
	return loss
}

// past is what the Guard knows of a Job that was deleted.
type past string

const (
	pastRemoved  past = "removed"  // its deletion was seen
	pastReturned past = "returned" // it is there again: the API server's store was restored
)

// noteRemoved remembers that a Job was seen to be deleted.
func (g *Guard[J]) noteRemoved(job *batchv1.Job) {
	if job == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pasts.put(job.UID, pastRemoved)
}

// noteSeen notices the return of a Job. The memories of its first life do not
// hold for the second one. Before is its last copy; nil without one.
func (g *Guard[J]) noteSeen(before, job *batchv1.Job) {
	if job == nil {
		return
	}
	older := false
	if before != nil && before.UID == job.UID {
		older, _ = olderVersion(job.ResourceVersion, before.ResourceVersion)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	known, _ := g.pasts.get(job.UID)
	if !older && known != pastRemoved {
		return
	}
	g.pasts.put(job.UID, pastReturned)
	g.tombstones.drop(job.UID)
	g.released.drop(job.UID)
	at, ok := placeOf(job)
	if ok {
		g.ended.drop(at)
	}
}

// noteAgreed forgets the return of a Job: the caller's copy of its owner is as
// stored.
func (g *Guard[J]) noteAgreed(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pasts.drop(uid)
}

// hasReturned reports whether the Job of a Ref is there again after it was
// gone, or after the store went back.
func (g *Guard[J]) hasReturned(ref Ref) bool {
	g.mu.Lock()
	known, _ := g.pasts.get(ref.UID)
	g.mu.Unlock()
	if known != pastRemoved || g.store == nil {
		return known == pastReturned
	}
	// The cache shows a Job before the handlers receive its event.
	job, _, err := g.store.get(ref)
	return err == nil && job != nil && job.UID == ref.UID
}

// recordedLately is how long after Step has returned the end of a run the
// caller's word suffices that the end is recorded. The release usually follows
// within a second. To restore the API server's store takes longer.
const recordedLately = time.Minute

// noteEnd remembers when Step has first returned the end of a run.
func (g *Guard[J]) noteEnd(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.ends.get(uid)
	if !known {
		g.ends.put(uid, g.now())
	}
}

// believes reports whether a final status in the caller's copy of the owner
// needs no live read before the Job is released or deleted.
func (g *Guard[J]) believes(req Request, v view) bool {
	if !req.Recorded || !v.ended || v.returned {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at, known := g.ends.get(v.ref.UID)
	return known && g.now().Sub(at) < recordedLately
}

// learn takes what a live read of the owner says about its Job.
func (g *Guard[J]) learn(v view) view {
	if !v.ownerAgrees() {
		return v
	}
	if v.found.Lost() {
		g.noteLoss(v.ref.UID, v.found.State)
	}
	if v.returned {
		g.noteAgreed(v.ref.UID)
		v.returned = false
		if v.ref.Released {
			v.found = Observation{State: Collected, Source: sourceRef, Outcome: v.ref.Outcome}
		}
	}
	return v
}
