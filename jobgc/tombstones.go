// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// handler is what New registers with the informer.
type handler[J jobClient] struct {
	g      *Guard[J]
	events *eventStore // nil if the informer has a store
}

// OnAdd notes the Job.
func (h handler[J]) OnAdd(obj any, _ bool) {
	h.g.feed()
	h.g.noteSeen(nil, deleted(obj))
	h.events.put(obj)
	if job := deleted(obj); job != nil {
		h.g.noteOther(job)
	}
}

// OnUpdate notes the Job. If a Job was recreated under its name while the watch
// was away, the informer reports it as an update, and no deletion.
func (h handler[J]) OnUpdate(was, obj any) {
	before := deleted(was)
	after := deleted(obj)
	if before != nil && after != nil {
		recreated := before.UID != after.UID
		if recreated {
			h.g.bury(before)
			h.g.noteRemoved(before)
		}
		if recreated || controllerOf(before) != controllerOf(after) {
			h.g.allow(before)
			h.g.forgetOther(before)
		}
	}
	h.g.feed()
	h.g.noteSeen(before, after)
	h.events.put(obj)
	if after != nil {
		h.g.noteOther(after)
	}
}

// OnDelete remembers a Job that was finished when it was deleted: the
// informer's delete event carries its last state. The state of a missed delete
// (cache.DeletedFinalStateUnknown) may be stale, but a finish never is.
func (h handler[J]) OnDelete(obj any) {
	h.g.feed()
	h.events.remove(deleted(obj))
	job := deleted(obj)
	if job == nil {
		return
	}
	h.g.bury(job)
	h.g.noteRemoved(job)
	h.g.allow(job)
	h.g.forgetOther(job)
}

// controllerOf returns the uid of the owner that controls a Job, if any.
func controllerOf(job *batchv1.Job) types.UID {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return ""
	}
	return owner.UID
}

// release is the last state of a Job that was deleted after its release,
// without the Job.
type release struct {
	at    time.Time
	found Observation
}

// bury remembers a Job that is gone, if it had finished and was not released.
func (g *Guard[J]) bury(job *batchv1.Job) {
	if lastState(job).State != Finished {
		return
	}
	if job.Annotations[releasedAnnotation] != "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		f := lastState(job)
		f.Source, f.Job = sourceTombstone, nil
		g.released.put(job.UID, release{g.now(), f})
		return
	}
	last := slim(job)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tombstones.put(last.UID, last)
	if at, ok := placeOf(last); ok {
		g.ended.put(at, ending{job: last})
	}
}

// feed notes that an informer calls the handler.
func (g *Guard[J]) feed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fed = true
}

// tombstone is the Observation about a Job whose deletion was seen; zero if it
// was not, or if it was not finished.
func (g *Guard[J]) tombstone(ref Ref) Observation {
	g.mu.Lock()
	job, ok := g.tombstones.get(ref.UID)
	last, released := g.released.get(ref.UID)
	g.mu.Unlock()
	switch {
	case released && ref.Outcome == "" && g.now().Sub(last.at) < g.opts.CacheLagTimeout:
		// Only a Job whose outcome or end is recorded is released: this copy of
		// the Ref is late.
		return Observation{State: Pending, Source: sourceTombstone, Reason: reasonOwnerChanged, Message: messageOwnerChanged, After: poll}
	case released && ref.Outcome == "":
		return last.found
	case released:
		return Observation{State: Collected, Source: sourceTombstone, Outcome: ref.Outcome}
	case !ok:
		return Observation{}
	case ref.Outcome != "":
		return Observation{State: Collected, Source: sourceTombstone, Outcome: ref.Outcome, Job: job}
	}
	f := lastState(job)
	f.Source, f.Hint = sourceTombstone, hint(f)
	return f
}

// settled reports whether a Job has been known to be gone for long enough that
// its delete event, if any, has arrived. When more Jobs are deleted together
// than the Guard can remember, the rest is settled immediately, so that no
// answer is put off forever.
func (g *Guard[J]) settled(uid types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.fed || g.absent.limit < 1 {
		return true
	}
	now := g.now()
	if since, ok := g.absent.get(uid); ok {
		return now.Sub(since) >= settle
	}
	if since, full := g.absent.oldest(); full && now.Sub(since) < time.Minute {
		return true
	}
	g.absent.put(uid, now)
	return false
}

// hint says what probably deleted a finished Job.
func hint(f Observation) string {
	ttl, at := f.Job.Spec.TTLSecondsAfterFinished, f.Job.DeletionTimestamp
	switch {
	case ttl == nil:
		return "probably deleted by hand, with its owner or by another controller: it had no TTL"
	case at != nil && at.Time.Before(f.FinishedAt.Add(time.Duration(*ttl)*time.Second)):
		return "probably deleted by hand, with its owner or by another controller: its TTL was not over"
	case at != nil:
		return "probably deleted by its TTL"
	}
	return ""
}

// deleted returns the Job that an informer's delete event carries. It
// recognizes the type of a missed delete by its shape, so that this package
// does not import client-go.
func deleted(obj any) *batchv1.Job {
	if job, ok := obj.(*batchv1.Job); ok {
		return job
	}
	v := reflect.Indirect(reflect.ValueOf(obj))
	if v.Kind() != reflect.Struct {
		return nil
	}
	field := v.FieldByName("Obj")
	if !field.IsValid() || !field.CanInterface() {
		return nil
	}
	job, _ := reflect.TypeAssert[*batchv1.Job](field)
	return job
}
