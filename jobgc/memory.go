// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// place is where an owner that has recorded no Job has one.
type place struct {
	namespace, name string
	owner           types.UID
}

// placeOf returns the place of a Job; none without a controller.
func placeOf(job *batchv1.Job) (at place, ok bool) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return place{}, false
	}
	return place{job.Namespace, job.Name, owner.UID}, true
}

// expected is the Job that an owner without a record may have.
type expected struct {
	uid    types.UID // none: it has not been seen
	unsure bool      // a creation has got no answer
}

// maxRemembered is how many Jobs a Guard remembers: the last ones.
const maxRemembered = 4096

// memory is what a Guard remembers of Jobs that it has created, adopted or seen
// deleted.
type memory struct {
	mu     sync.Mutex
	jobs   ring[types.UID, past]
	places ring[place, expected]
}

func newMemory(limit int) *memory {
	m := &memory{}
	m.jobs.limit = limit
	m.places.limit = limit
	return m
}

// ofJob returns what is remembered of a Job.
func (m *memory) ofJob(uid types.UID, now time.Time) (recollection, Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(uid, now)
}

// of is ofJob for a caller that holds mu. If more Jobs are deleted together
// than fit, the rest is settled immediately, so that no answer is put off
// forever.
func (m *memory) of(uid types.UID, now time.Time) (recollection, Observation) {
	p, known := m.jobs.get(uid)
	out := p.at(now)
	oldest, full := m.jobs.oldest()
	crowded := full && now.Sub(oldest.since) < time.Minute
	if !known && crowded {
		out.eventOver = true
	}
	return out, p.last
}

// ofPlace returns what is remembered of the Job of an owner that has recorded
// none.
func (m *memory) ofPlace(at place, now time.Time) (recollection, Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is, _ := m.places.get(at)
	if is.uid == "" {
		return recollection{unsure: is.unsure}, Observation{}
	}
	out, last := m.of(is.uid, now)
	out.uid = is.uid
	return out, last
}

// givenAt is when a call first returned the Ref of a Job: now, if none has.
func (m *memory) givenAt(uid types.UID, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, _ := m.jobs.get(uid)
	if p.givenAt.IsZero() {
		return now
	}
	return p.givenAt
}

// change replaces what is remembered of a Job. Of a Job that is not remembered
// yet, change makes a new past.
func (m *memory) change(uid types.UID, now time.Time, to func(past) past) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, known := m.jobs.get(uid)
	if !known {
		p = past{uid: uid, since: now}
	}
	m.jobs.put(uid, to(p))
}

// saw remembers a Job whose owner may not have recorded it. If the owner had
// one before that has finished, that one stays: its work is done.
func (m *memory) saw(job *batchv1.Job, now time.Time) {
	m.change(job.UID, now, func(p past) past { return p.sees(StateOf(job)) })
	at, ok := placeOf(job)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	is, _ := m.places.get(at)
	before, _ := m.jobs.get(is.uid)
	if before.last.Outcome == "" {
		m.places.put(at, expected{uid: job.UID})
	}
}

// expects remembers that Step was called for an owner without a record.
func (m *memory) expects(at place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is, _ := m.places.get(at)
	m.places.put(at, is)
}

// doubts remembers that a creation has got no answer.
func (m *memory) doubts(at place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is, _ := m.places.get(at)
	is.unsure = true
	m.places.put(at, is)
}

// appeared notices that the cache shows a Job. If its deletion was seen before,
// the Job is there again.
func (m *memory) appeared(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, known := m.jobs.get(uid)
	if !known {
		return
	}
	if p.fate == fateRemoved {
		p = p.isBack()
	}
	p.given = wishNone // the cache is not late any more
	m.jobs.put(uid, p)
}

// knows reports whether Step has seen a Job, or was called for its owner.
func (m *memory) knows(job *batchv1.Job) bool {
	at, _ := placeOf(job)
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.jobs.get(job.UID)
	_, expected := m.places.get(at)
	return known || expected
}

// deleted remembers a Job that was deleted.
func (m *memory) deleted(job *batchv1.Job, now time.Time) {
	released := job.Annotations[releasedAnnotation] != ""
	m.change(job.UID, now, func(p past) past { return p.isRemoved(lastState(job), released, now) })
	at, ok := placeOf(job)
	finished := lastState(job).State == Finished
	if !ok || !finished || released {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.places.put(at, expected{uid: job.UID})
}

// ring remembers the last entries that were put into it. The zero ring, or one
// with a limit below 1, remembers nothing.
type ring[K comparable, V any] struct {
	limit int
	m     map[K]V
	keys  []K // in the order of putting, from next on
	next  int
}

func (r *ring[K, V]) get(k K) (V, bool) {
	v, ok := r.m[k]
	return v, ok
}

// oldest is the entry that the next put of a new key displaces, if the ring is
// full.
func (r *ring[K, V]) oldest() (v V, full bool) {
	if r.limit < 1 || len(r.keys) < r.limit {
		return v, false
	}
	return r.m[r.keys[r.next]], true
}

func (r *ring[K, V]) put(k K, v V) {
	if r.limit < 1 {
		return
	}
	if r.m == nil {
		r.m = map[K]V{}
	}
	if _, ok := r.m[k]; !ok {
		if len(r.keys) < r.limit {
			r.keys = append(r.keys, k)
		} else {
			delete(r.m, r.keys[r.next])
			r.keys[r.next] = k
			r.next = (r.next + 1) % r.limit
		}
	}
	r.m[k] = v
}
