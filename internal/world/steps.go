// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// backoff is the time between a call that failed and its repetition.
	backoff = time.Second

	// longest is how long the API server may work on a request: the default of
	// its flag --request-timeout.
	longest = time.Minute
)

var errLost = errors.New("read tcp 127.0.0.1:6443: connection reset by peer")

// yield is called with a step that the world can do, and the state after it.
type yield[F comparable] func(step string, after *state[F])

func replica(i int) string { return fmt.Sprintf("replica %d", i+1) }

// next yields each step that can happen in a state.
func (r *run[F]) next(s *state[F], yield yield[F]) {
	for i := range s.processes {
		r.caches(s, i, yield)
		left, ok := s.switchTo(i)
		if ok {
			r.process(s, i, func(step string, after *state[F]) {
				after.left.Switches = left
				after.active = i
				yield(replica(i)+": "+step, after)
			})
		}
	}
	for i := range s.late {
		r.executeLate(s, i, yield)
	}
	for _, a := range r.Actors {
		r.act(s, a, yield)
	}
	if s.left.Waits > 0 {
		after := s.clone()
		after.left.Waits--
		r.wait(after, false, yield)
	}
}

// switchTo reports whether a replica may act now, and how many switches are
// left then.
func (s *state[F]) switchTo(i int) (left int, ok bool) {
	left = s.left.Switches
	if i != s.active && s.processes[s.active].pending != nil {
		left--
	}
	return left, left >= 0
}

// caches shows a process what it has not seen.
func (r *run[F]) caches(s *state[F], i int, yield yield[F]) {
	if !s.processes[i].isUp {
		return
	}
	for _, resource := range s.processes[i].waiting() {
		after := s.clone()
		p := &after.processes[i]
		change := p.show(resource)
		p.isDirty = p.isDirty || r.Wakes == nil || r.Wakes(change)
		yield(replica(i)+": its cache shows the next change of "+resource, after)
	}
}

// process yields what a process can do, and what can happen to it.
func (r *run[F]) process(s *state[F], i int, yield yield[F]) {
	p := s.processes[i]
	switch {
	case !p.isUp:
		r.start(s, i, yield)
	case p.sent != nil:
		r.answer(s, i, yield)
		r.crash(s, i, yield)
	case p.pending != nil:
		r.send(s, i, yield)
		r.fail(s, i, yield)
		r.delay(s, i, yield)
		r.crash(s, i, yield)
	default:
		if p.isDue(s.store.Now) {
			r.call(s, i, yield)
		}
		r.crash(s, i, yield)
	}
}

func (r *run[F]) start(s *state[F], i int, yield yield[F]) {
	after := s.clone()
	after.processes[i] = process{isUp: true, isDirty: true, caches: r.cachedObjects(&s.store)}
	yield("it starts", after)
	if s.left.Stale > 0 && len(s.processes[i].unseen) > 0 {
		after := s.clone()
		after.left.Stale--
		after.processes[i].isUp = true
		after.processes[i].isDirty = true
		yield("it starts with old caches", after)
	}
}

func (r *run[F]) cachedObjects(s *Store) []*Object {
	var list []*Object
	for _, o := range s.objects {
		if slices.Contains(r.Cached, o.Resource) {
			list = append(list, o)
		}
	}
	return list
}

func (r *run[F]) crash(s *state[F], i int, yield yield[F]) {
	if s.left.Crashes == 0 {
		return
	}
	after := s.clone()
	after.left.Crashes--
	after.processes[i].crash()
	yield("it is killed", after)
	p := s.processes[i]
	if p.pending == nil || p.sent != nil || p.pending.isRead() {
		return
	}
	executed := s.clone()
	executed.left.Crashes--
	r.execute(executed, replica(i), p.pending.Request)
	executed.processes[i].crash()
	yield("it is killed after "+p.pending.String(), executed)
}

// call begins a call.
func (r *run[F]) call(s *state[F], i int, yield yield[F]) {
	after := s.clone()
	p := &after.processes[i]
	p.isDirty = false
	p.wake = time.Time{}
	p.began = len(p.life)
	p.add(entry{now: s.store.Now, caches: p.caches, unseen: p.unseen})
	r.play(after, i)
	yield("a call begins", after)
}

// play replays a process up to its next request.
func (r *run[F]) play(s *state[F], i int) {
	p := &s.processes[i]
	o := replay(r.t, r.Replicas[i], p.life)
	r.report.Replays++
	if o.broken != nil && r.broken == nil {
		r.broken = o.broken
	}
	p.pending = o.pending
	p.read = o.read
	p.versions = o.versions
	if p.pending != nil {
		return
	}
	p.memory = o.memory
	p.read = nil
	p.versions = nil
	if p.memory == "" {
		p.life = nil
	}
	switch {
	case o.err != nil:
		p.wake = s.store.Now.Add(backoff)
	case o.after > 0:
		p.wake = s.store.Now.Add(o.after)
	}
}

// send sends the pending request, and lets the process have the answer.
func (r *run[F]) send(s *state[F], i int, yield yield[F]) {
	p := s.processes[i]
	if p.isExpired(s.store.Now) {
		r.arrive(s.clone(), i, Answer{}, "its time is over before "+p.pending.String(), yield)
		return
	}
	after := s.clone()
	answer := r.execute(after, replica(i), p.pending.Request)
	if s.left.Pauses > 0 {
		paused := after.clone()
		paused.left.Pauses--
		paused.processes[i].sent = &answer
		yield(p.pending.String()+", the answer is on its way", paused)
	}
	r.arrive(after, i, answer, p.pending.String(), yield)
}

func (r *run[F]) answer(s *state[F], i int, yield yield[F]) {
	p := s.processes[i]
	r.arrive(s.clone(), i, *p.sent, "the answer arrives to "+p.pending.String(), yield)
}

// arrive gives a process the answer to its request. It changes after.
func (r *run[F]) arrive(after *state[F], i int, a Answer, step string, yield yield[F]) {
	p := &after.processes[i]
	p.add(entry{
		now: after.store.Now, caches: p.caches, unseen: p.unseen, request: p.pending.String(), answer: a,
	})
	p.sent = nil
	r.play(after, i)
	if a.Err != nil {
		step += ": " + a.Err.Error()
	}
	yield(step, after)
}

// fail lets a request fail.
func (r *run[F]) fail(s *state[F], i int, yield yield[F]) {
	p := s.processes[i]
	if s.left.Faults == 0 || p.isExpired(s.store.Now) {
		return
	}
	refused := s.clone()
	refused.left.Faults--
	failure := apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	r.arrive(refused, i, Answer{Err: failure}, "not executed: "+p.pending.String(), yield)
	if p.pending.isRead() {
		return
	}
	lost := s.clone()
	lost.left.Faults--
	r.execute(lost, replica(i), p.pending.Request)
	r.arrive(lost, i, Answer{Err: errLost}, "executed: "+p.pending.String(), yield)
}

// delay lets the API server execute a request after its client got an error.
func (r *run[F]) delay(s *state[F], i int, yield yield[F]) {
	p := s.processes[i]
	if s.left.Late == 0 || p.pending.isRead() || p.isExpired(s.store.Now) {
		return
	}
	delayed := s.clone()
	delayed.left.Late--
	delayed.late = append(delayed.late, late{p.pending.Request, replica(i), s.store.Now.Add(longest)})
	r.arrive(delayed, i, Answer{Err: errLost}, "executed later: "+p.pending.String(), yield)
}

func (r *run[F]) executeLate(s *state[F], i int, yield yield[F]) {
	after := s.clone()
	request := after.late[i]
	after.late = slices.Delete(after.late, i, i+1)
	r.execute(after, request.by, request.Request)
	yield("late: "+request.String(), after)
}

// act yields the writes of an actor.
func (r *run[F]) act(s *state[F], a Actor, yield yield[F]) {
	if a.IsRude && s.left.Acts == 0 {
		return
	}
	writes, _ := a.Next(&s.store)
	for _, request := range writes {
		after := s.clone()
		if a.IsRude {
			after.left.Acts--
		}
		r.execute(after, a.Name, request)
		yield(a.Name+": "+request.String(), after)
	}
}

// wait lets time pass. It changes after.
func (r *run[F]) wait(after *state[F], isCalm bool, yield yield[F]) {
	next := r.nextTime(after, isCalm)
	if next.IsZero() {
		return
	}
	step := fmt.Sprintf("%s pass", next.Sub(after.store.Now))
	after.store.Now = next
	after.late = slices.DeleteFunc(after.late, func(l late) bool { return l.until.Before(next) })
	yield(step, after)
}
