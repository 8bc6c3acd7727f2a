// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The machines of the small world. A machine is a value of production code, of
// more than a thousand bytes. The rules give a number to each machine that the
// search meets. As machines are pure, the rules also remember where each of
// them goes: a search asks the machine once for each of its states and inputs.

type (
	machineNumber uint32 // 0: no call
	memoryNumber  uint16
	notesNumber   uint16 // 0: none
	pastNumber    uint16 // 0: nothing
	factsNumber   uint16 // 0: no Job
)

// numbered gives numbers to values. The zero value has the number 0.
type numbered[N ~uint16 | ~uint32, T comparable] struct {
	numbers map[T]N
	values  []T
}

func newNumbered[N ~uint16 | ~uint32, T comparable]() numbered[N, T] {
	n := numbered[N, T]{numbers: map[T]N{}}
	var zero T
	n.of(zero)
	return n
}

func (n *numbered[N, T]) of(value T) N {
	number, known := n.numbers[value]
	if known {
		return number
	}
	number = N(len(n.values)) //nolint:gosec // see below
	if int(number) != len(n.values) {
		panic("the numbers of the small world are too small")
	}
	n.values = append(n.values, value)
	n.numbers[value] = number
	return number
}

// simMachine is a machine between two requests.
type simMachine struct {
	machine
	asks request
	job  int8   // of the Ref
	uses jobSet // the Jobs that it knows
}

// simAnswer is an answer, or what a cache has.
type simAnswer struct {
	verdict verdict
	index   int8 // of the Job
	job     simJob
	by      int8 // the owner of the request
	same    bool
	early   bool // its condition follows its suspension
	read    bool // it is an answer about the owner
	owner   simOwner
	gen     int8 // of the copy of the owner
}

// did is what a machine has done.
type did struct {
	m     machineNumber
	notes notesNumber
}

type step struct {
	m      machineNumber
	memory memoryNumber
	answer simAnswer
}

// beginning is what a call begins with.
type beginning struct {
	owner  simOwner
	cached simAnswer
	memory memoryNumber
	young  bool // the Ref
	recent bool // the owner was recorded
}

// rules are what does not change in a search, and what it has computed.
type rules struct {
	settings
	start    budget
	machines numbered[machineNumber, simMachine]
	memories numbered[memoryNumber, recollection]
	notes    numbered[notesNumber, notes]
	pasts    numbered[pastNumber, past]
	shown    numbered[factsNumber, jobFacts]
	begins   map[beginning]machineNumber
	nexts    map[step]did
	answers  map[step]did
	changes  map[pastChange]pastNumber
	recalls  map[recall]memoryNumber
}

func newRules(set settings) *rules {
	return &rules{
		settings: set,
		machines: newNumbered[machineNumber, simMachine](),
		memories: newNumbered[memoryNumber, recollection](),
		notes:    newNumbered[notesNumber, notes](),
		pasts:    newNumbered[pastNumber, past](),
		shown:    newNumbered[factsNumber, jobFacts](),
		begins:   map[beginning]machineNumber{},
		nexts:    map[step]did{},
		answers:  map[step]did{},
		changes:  map[pastChange]pastNumber{},
		recalls:  map[recall]memoryNumber{},
	}
}

func (r *rules) machine(m machineNumber) *simMachine { return &r.machines.values[m] }

// number keeps a machine, without what is set before it is asked again.
func (r *rules) number(m machine, asks request) did {
	out := did{notes: r.notes.of(m.notes)}
	m.notes = notes{}
	m.memory = recollection{}
	var uses jobSet
	for _, uid := range []types.UID{m.ref.uid, m.stored.ref.uid, m.cached.uid, m.found.job.uid, m.before.uid} {
		uses.add(indexOf(uid))
	}
	out.m = r.machines.of(simMachine{m, asks, indexOf(m.ref.uid), uses})
	return out
}

// begin is a machine at the beginning of a call.
func (r *rules) begin(b beginning) machineNumber {
	out, known := r.begins[b]
	if !known {
		out = r.begun(b)
		r.begins[b] = out
	}
	return out
}

func (r *rules) begun(b beginning) machineNumber {
	o := b.owner
	m := machine{
		view: view{
			ref: o.record(), ended: o.ending != unended, deleting: o.deleting, cancel: o.cancel, suspend: o.suspend.wish(),
			named: r.named, finalizer: r.finalizer, deletes: r.deletes,
		},
		informer: r.informer,
		nowhere:  o.job == 0 && r.nowhere,
		barred:   o.job == 0 && r.barred,
		young:    o.job != 0 && b.young,
		recent:   b.recent && !r.undated,
		cached:   r.facts(b.cached),
		stage:    stageFind,
	}
	m.before = r.memories.values[b.memory]
	return r.number(m, requestNone).m
}

// next is machine.next.
func (r *rules) next(m machineNumber, memory memoryNumber) did {
	key := step{m: m, memory: memory}
	out, known := r.nexts[key]
	if known {
		return out
	}
	now := r.machine(m).machine
	now.memory = r.memories.values[memory]
	after, asks := now.next()
	out = r.number(after, asks)
	r.nexts[key] = out
	return out
}

// answer is machine.answer.
func (r *rules) answer(m machineNumber, memory memoryNumber, a simAnswer) did {
	key := step{m: m, memory: memory, answer: a}
	out, known := r.answers[key]
	if known {
		return out
	}
	now := r.machine(m).machine
	now.memory = r.memories.values[memory]
	out = r.number(now.answer(r.made(a)), requestNone)
	r.answers[key] = out
	return out
}

// made makes the answer.
func (r *rules) made(a simAnswer) answer {
	out := answer{verdict: a.verdict, job: r.facts(a), same: a.same}
	if !a.read {
		return out
	}
	out.owner.is = ownerGone
	if a.owner.uid != 0 {
		out.owner.is = a.owner.wants()
		out.owner.edited = a.owner.gen != a.gen
		out.owner.ref = a.owner.record()
	}
	return out
}

// facts are what a replica sees of a Job.
func (r *rules) facts(a simAnswer) jobFacts {
	job := a.job
	if a.index == 0 || !job.exists {
		return jobFacts{}
	}
	f := jobFacts{
		uid: jobUIDs[a.index], control: controlOther, state: Active, deleting: job.deleting, suspends: job.suspends,
		stopped: job.stopped && job.suspends && !job.finished && !job.deleting,
		held:    job.held, annotated: job.annotated, released: job.released,
	}
	if job.owner == a.by && !job.foreign {
		f.control = controlOwner
	}
	switch {
	case job.finished:
		f.state = Finished
		f.outcome = Succeeded
	case job.deleting:
		f.state = Deleting
	case job.suspends && !a.early:
		f.state = Suspended
	}
	keeps := r.ttl == "none"
	f.ttl = ttlFacts{early: job.early && !job.deleting && !job.released, unset: keeps, final: keeps || job.released}
	return f
}

// began is the time of the world. Times are either began or before.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
