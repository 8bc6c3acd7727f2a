// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OnAdd does nothing but note that an informer feeds the Guard.
func (g *Guard[J]) OnAdd(any, bool) { g.feed() }

// OnUpdate does nothing but note that an informer feeds the Guard.
func (g *Guard[J]) OnUpdate(_, _ any) { g.feed() }

// OnDelete remembers a Job that was finished when it was deleted: the informer's delete event carries its last state.
// It takes a *Job, or what client-go gives for a missed delete (cache.DeletedFinalStateUnknown), whose Job may be
// stale: a finish never is. Anything else is ignored.
func (g *Guard[J]) OnDelete(obj any) {
	g.feed()
	job := deleted(obj)
	if Judge(job).State != Finished {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tombs.put(job.UID, job)
}

func (g *Guard[J]) feed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fed = true
}

// tombstone is the Finding about a Job whose deletion was seen; zero if it was not, or if it was not finished.
func (g *Guard[J]) tombstone(ref Ref) Finding {
	g.mu.Lock()
	job, ok := g.tombs.get(ref.UID)
	g.mu.Unlock()
	switch {
	case !ok:
		return Finding{}
	case ref.Outcome != "":
		return Finding{State: Collected, Proof: ByTombstone, Outcome: ref.Outcome, Job: job}
	}
	f := Judge(job)
	f.Proof, f.Hint = ByTombstone, hint(f)
	return f
}

// settled reports whether a Job has been known to be gone for long enough that its delete event has come if there is
// one. When more Jobs go at once than can be kept in mind, the rest is settled at once: no answer is put off for ever.
func (g *Guard[J]) settled(uid types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.fed || g.absent.limit < 1 {
		return true
	}
	now := time.Now()
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
func hint(f Finding) string {
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

// deleted takes the Job out of what an informer's delete event carries. The type of a missed delete is told by its
// shape, so that this package need not import client-go.
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
