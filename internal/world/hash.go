// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// hasher computes a hash of a state. Two states that differ only in the
// numbers of their versions have the same hash. A version counts by its order
// among the versions of its object in the state.
type hasher struct {
	maphash.Hash

	ranks map[types.UID][]int
}

// hashState leaves out the budgets.
func hashState[F comparable](seed maphash.Seed, s *state[F]) uint64 {
	h := &hasher{ranks: map[types.UID][]int{}}
	h.SetSeed(seed)
	s.eachObject(h.rank)
	for _, versions := range h.ranks {
		slices.Sort(versions)
	}
	h.number(uint64(s.store.Now.Unix()))
	h.number(uint64(s.store.Now.Nanosecond()))
	h.number(maphash.Comparable(seed, s.facts))
	h.objects(s.store.objects)
	for i := range s.processes {
		h.process(&s.processes[i])
	}
	for _, r := range s.late {
		h.text(r.by + r.String())
		h.number(uint64(r.until.Unix()))
	}
	return h.Sum64()
}

// eachObject calls f with each version of an object that the state has.
func (s *state[F]) eachObject(f func(o *Object)) {
	all := func(objects []*Object) {
		for _, o := range objects {
			f(o)
		}
	}
	all(s.store.objects)
	for i := range s.processes {
		p := &s.processes[i]
		all(p.caches)
		all(p.versions)
		for _, c := range p.unseen {
			f(c.Before)
			f(c.After)
		}
		for _, e := range p.call() {
			f(e.answer.Object)
			all(e.answer.List)
		}
		if p.sent != nil {
			f(p.sent.Object)
			all(p.sent.List)
		}
	}
}

// call has the entries of the call that a process is in.
func (p *process) call() []entry {
	if p.pending == nil {
		return nil
	}
	return p.life[p.began:]
}

func (h *hasher) rank(o *Object) {
	if o == nil {
		return
	}
	versions := h.ranks[o.UID]
	if !slices.Contains(versions, o.version) {
		h.ranks[o.UID] = append(versions, o.version)
	}
}

func (h *hasher) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:])
}

func (h *hasher) text(s string) {
	h.number(uint64(len(s)))
	_, _ = h.WriteString(s)
}

func (h *hasher) flag(is bool) {
	if is {
		h.number(1)
	} else {
		h.number(0)
	}
}

func (h *hasher) object(o *Object) {
	if o == nil {
		h.number(0)
		return
	}
	h.number(o.content)
	h.number(uint64(slices.Index(h.ranks[o.UID], o.version)))
}

func (h *hasher) objects(list []*Object) {
	h.number(uint64(len(list)))
	for _, o := range list {
		h.object(o)
	}
}

func (h *hasher) answer(a Answer) {
	h.object(a.Object)
	h.objects(a.List)
	h.flag(a.Err != nil)
	if a.Err != nil {
		h.text(a.Err.Error())
	}
}

func (h *hasher) process(p *process) {
	h.flag(p.isUp)
	h.flag(p.isDirty)
	h.number(uint64(p.wake.Unix()))
	h.text(p.memory)
	h.objects(p.caches)
	h.number(uint64(len(p.unseen)))
	for _, c := range p.unseen {
		h.object(c.Before)
		h.object(c.After)
	}
	h.flag(p.pending != nil)
	if p.pending == nil {
		return
	}
	for _, e := range p.call() {
		h.number(uint64(e.now.Unix()))
		h.number(uint64(e.now.Nanosecond()))
		h.answer(e.answer)
	}
	for _, content := range p.read {
		h.number(content)
	}
	h.objects(p.versions)
	h.flag(p.sent != nil)
	if p.sent != nil {
		h.answer(*p.sent)
	}
}
