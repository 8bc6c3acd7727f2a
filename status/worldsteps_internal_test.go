// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
)

// world is a state with what it needs to make the next one.
type world struct {
	state

	commits *commits
}

// step is what can happen in the world.
type step struct {
	kind    stepKind
	who     int8
	fault   fault
	version uint8 // that a reconcile reads
}

type stepKind uint8

const (
	begins stepKind = iota
	proceeds
	arrives // the late write
	learns  // the truth grows
	edits
	recreates
	deletes
	crashes
	ages
	agesLonger
)

func (e step) String() string {
	names := [...]string{
		"begins", "proceeds", "late write arrives", "truth grows", "spec is edited",
		"object is recreated", "object is deleted", "crashes", "5 minutes pass", "10 minutes pass",
	}
	out := names[e.kind]
	switch e.kind {
	case begins:
		return fmt.Sprintf("%d %s from version %d", e.who, out, e.version)
	case proceeds:
		return fmt.Sprintf("%d %s: %s", e.who, out, [...]string{"answered", "lost", "unanswered", "late"}[e.fault])
	case crashes:
		return fmt.Sprintf("%d %s", e.who, out)
	default:
		return out
	}
}

// next calls yield with each step that can happen, and the state after it.
func (s world) next(yield func(step, world)) {
	if s.wrong != nothing {
		return
	}
	for who := range int(s.count) {
		s.nextOf(who, yield)
	}
	if s.late.by >= 0 {
		yield(step{kind: arrives}, s.arrive())
	}
	o := s.stored()
	if o.uid != 0 && o.truth < 3 {
		o.truth++
		yield(step{kind: learns}, s.put(o))
	}
	if s.acts > 0 {
		s.nextOfPerson(yield)
	}
	isBusy := s.controllers[first].call.active || s.controllers[second].call.active
	if s.ages > 0 && !isBusy {
		after := s.age()
		after.ages--
		yield(step{kind: ages}, after)
		if s.crd == prunes {
			yield(step{kind: agesLonger}, after.ageLonger())
		}
	}
}

func (s world) nextOf(who int, yield func(step, world)) {
	c := s.controllers[who]
	if c.call.active {
		yield(step{proceeds, int8(who), answered, 0}, s.proceed(who, answered))
		for f := lost; s.faults > 0 && f <= late; f++ {
			after := s.proceed(who, f)
			after.faults--
			yield(step{proceeds, int8(who), f, 0}, after)
		}
	} else {
		for i := c.cache; i < s.versions; i++ {
			yield(step{kind: begins, who: int8(who), version: i}, s.begin(who, i))
		}
	}
	if s.crashes > 0 {
		after := s
		after.crashes--
		after.controllers[who] = controller{}
		after.forgot = byCrash
		yield(step{kind: crashes, who: int8(who)}, after)
	}
}

func (s world) nextOfPerson(yield func(step, world)) {
	s.acts--
	o := s.stored()
	if o.uid != 0 {
		edited := o
		edited.generation++
		yield(step{kind: edits}, s.put(edited))
		yield(step{kind: deletes}, s.put(object{}))
	}
	s.uids++
	yield(step{kind: recreates}, s.put(object{uid: s.uids, generation: 1, truth: 3}))
}

// put stores a version.
func (s world) put(o object) world {
	if s.versions == maxVersions {
		s.wrong = tooMany
		return s
	}
	o.version = s.stored().version + 1
	s.history[s.versions] = o
	s.versions++
	return s
}

// age lets 5 minutes pass: the Writers forget their writes.
func (s world) age() world {
	for who := range s.controllers {
		known := &s.controllers[who].memory
		forgotten := memory{uid: known.uid, unkept: known.unkept}
		if *known != forgotten {
			*known = forgotten
			s.forgot = byAge
		}
	}
	return s
}

// ageLonger lets 5 more minutes pass: the Writers forget what was not kept.
func (s world) ageLonger() world {
	for who := range s.controllers {
		s.controllers[who].memory.unkept = 0
		s.controllers[who].sent = 0
	}
	return s
}

// begin starts a Commit from a version of the object.
func (s world) begin(who int, version uint8) world {
	c := &s.controllers[who]
	c.cache = version
	before := s.history[version]
	if before.uid == 0 {
		return s // the reconcile has nothing to do
	}
	if c.memory.uid != before.uid {
		c.memory = memory{uid: before.uid}
		c.sent = 0
	}
	c.call = call{active: true, bare: s.bare, before: before, at: s.seconds + 1}
	return s.advance(who)
}

// advance ends the Commit if it makes no further request.
func (s world) advance(who int) world {
	c := &s.controllers[who]
	out := s.commits.run(who, *c)
	switch {
	case !out.waits:
		c.memory = out.memory
		c.call = call{}
	case c.call.count == maxAnswers:
		s.wrong = tooMany
	case c.call.count == 0:
		s.seconds = c.call.at
	}
	return s
}

// proceed lets the API server answer the request that waits.
func (s world) proceed(who int, f fault) world {
	c := &s.controllers[who]
	r := s.commits.run(who, *c).request
	reply := s.answerTo(r)
	isWrite := reply.kind == done200 && reply.object != s.stored()
	isNews := s.isNews(who, r)
	switch {
	case f == late && isWrite && s.late.by < 0:
		s.late = lateWrite{by: int8(who), after: reply.object, isNews: isNews || c.memory.unanswered != 0}
	case isWrite && (f == answered || f == unanswered):
		s = s.write(who, reply.object, isNews)
		reply.object = s.stored()
	}
	if s.wrong != nothing {
		return s
	}
	c = &s.controllers[who]
	if f == answered {
		c.call.answers[c.call.count] = reply
		if reply.kind == done200 {
			c.sent |= s.unkeptPhase(r)
		}
	}
	c.call.count++
	return s.advance(who)
}

// arrive does the late write, if the object still has its version.
func (s world) arrive() world {
	l := s.late
	s.late = lateWrite{by: -1}
	if l.after.version == s.stored().version {
		return s.write(int(l.by), l.after, l.isNews)
	}
	return s
}

// answerTo is what the API server answers a patch with.
func (s world) answerTo(p patched) answer {
	o := s.stored()
	switch {
	case o.uid == 0:
		return answer{kind: missing404}
	case p.version == 0:
		return answer{done200, o}
	case p.version != o.version:
		return answer{kind: conflict409}
	}
	o = p.of(o)
	switch {
	case s.crd == prunes:
		o.phase = 0
	case s.crd == defaults && o.phase == 0:
		o.phase = defaultPhase
	}
	return answer{done200, o}
}

// unkeptPhase is a bit for the phase in a patch that the schema prunes; 0 for
// none.
func (s world) unkeptPhase(p patched) uint8 {
	if s.crd != prunes || p.has&hasPhase == 0 {
		return 0
	}
	return 1 << p.values.phase
}

// isNews reports whether a controller sends a phase for the first time to a
// schema that does not keep it.
func (s world) isNews(who int, p patched) bool {
	return s.unkeptPhase(p)&^s.controllers[who].sent != 0
}

// write stores what a controller wrote, and holds it to the rules.
func (s world) write(who int, after object, isNews bool) world {
	before := s.stored()
	onlyTime := before
	onlyTime.updated = after.updated
	switch {
	case before.started != 0 && after.started != before.started:
		s.wrong = moved
	case before.finished != 0 && after.finished != before.finished:
		s.wrong = moved
	case after.observed < before.observed:
		s.wrong = generationBack
	case onlyTime == after && !isNews && s.controllers[who].memory.unanswered == 0:
		s.wrong = forNothing
	}
	isOlder := after.ready.truth < before.ready.truth || after.other.truth < before.other.truth
	isMixed := after.phase != s.phaseOf(after.ready.truth)
	copied := s.controllers[who].call.before
	isStale := copied.uid == before.uid && copied.version < s.wrote[who] && s.controllers[who].call.active
	if isOlder || isMixed || isStale {
		switch {
		case s.forgot != never:
			s.wentOld = true
		case isStale:
			s.wrong = staleCopy
		case isMixed:
			s.wrong = mixed
		default:
			s.wrong = wentBack
		}
	}
	s.wrote[who] = before.version + 1
	return s.put(after)
}

// phaseOf is the phase that belongs to a truth; 0 for none.
func (s world) phaseOf(truth uint8) uint8 {
	switch {
	case s.bare, s.crd == prunes:
		return 0
	case s.crd == defaults && truth == 0:
		return defaultPhase
	}
	return truth
}

// calm is one step without faults. It returns s at rest.
func (s world) calm() world {
	if s.late.by >= 0 {
		return s.arrive()
	}
	for who, c := range s.controllers {
		if c.call.active {
			return s.proceed(who, answered)
		}
	}
	for who := range int(s.count) {
		o := s.stored()
		if o.uid == 0 {
			return s
		}
		probe := s.controllers[who]
		probe.call = call{active: true, bare: s.bare, before: o, at: s.seconds + 1}
		out := s.commits.run(who, probe)
		if out.waits {
			return s.begin(who, s.versions-1)
		}
		if out.isStale {
			return s.age()
		}
	}
	return s
}

// right returns what is wrong with a world at rest.
func (s world) right() string {
	o := s.stored()
	if o.uid == 0 {
		return ""
	}
	want := o
	want.phase = s.phaseOf(o.truth)
	want.observed = o.generation
	want.ready.truth = o.truth
	want.ready.generation = o.generation
	if s.count == 2 {
		want.other.truth = o.truth
		want.other.generation = o.generation
	}
	if o != want {
		return fmt.Sprintf("the stored status is %+v; want %+v", o, want)
	}
	if (o.truth == 3) != (o.finished != 0) {
		return fmt.Sprintf("finishedAt does not fit: %+v", o)
	}
	return ""
}
