// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
)

// A plan is a small world: its bounds and objects, the things that may happen,
// and how many of them happen one after another.
type plan struct {
	name    string
	bounds  bounds
	objects []string // each "namespace/name", with one letter for the namespace
	choices []choice
	depth   int
	short   int // depth with the race detector, and with -short
}

// A choice is one thing that may happen.
type choice struct {
	name string
	do   func(*replay) bool // false where it cannot happen
}

const (
	objectCap = 2 // requests a minute
	away      = "Away"
	started   = "Started"
)

// smallBounds have a cap of two requests, and pauses that double once.
func smallBounds() bounds {
	return bounds{
		objects:   2,
		series:    2,
		perObject: perMinute(objectCap),
		total:     limit{2, 15 * time.Second},
		pace:      limit{1, 15 * time.Second},
		pause:     30 * time.Second,
		longest:   time.Minute,
		retry:     retryTimeout,
		namespace: "default",
	}
}

// records are the choices of occurrences about an object.
func records(number int, names ...string) (all []choice) {
	fails := identity{eventtype: corev1.EventTypeWarning, reason: away}
	occurrences := map[string]occurrence{
		"fail":     {identity: fails, kind: failure, text: "one"},
		"other":    {identity: fails, kind: failure, text: "two"},
		"edit":     {identity: fails, kind: failure, text: "one"},
		"terminal": {identity: fails, kind: failure, text: "two", terminal: true},
		"conflict": {identity: fails, kind: conflict, text: "one"},
		"normal":   {identity: identity{eventtype: corev1.EventTypeNormal, reason: started}, text: "started"},
		"recover":  {identity: identity{eventtype: corev1.EventTypeNormal, reason: Recovered}, kind: recovery},
	}
	for _, name := range names {
		all = append(all, choice{fmt.Sprint(name, " ", number), func(r *replay) bool {
			if name == "edit" {
				r.generations[number]++
			}
			r.occur(number, occurrences[name])
			return true
		}})
	}
	return all
}

// answers are the choices of what happens to the requests that are under way:
// at most one for each object.
func answers(objects int, names ...string) (all []choice) {
	responses := []response{
		{name: "stored", reply: written, isStored: true},
		{name: "503", reply: serverFails},
		{name: "lost", reply: serverFails, isStored: true},
		{name: "time-out", reply: namespaceFails, silent: true},
		{name: "403", reply: groupDenied},
		{name: "gone", reply: namespaceGone},
		{name: "422", reply: rejected},
	}
	for _, how := range responses {
		for number := range objects {
			if !contains(names, how.name) {
				continue
			}
			all = append(all, choice{fmt.Sprint(how.name, " for request ", number), func(r *replay) bool {
				if number >= len(r.running) {
					return false
				}
				r.end(number, how)
				return true
			}})
		}
	}
	return all
}

func contains(names []string, name string) bool {
	return len(names) == 0 || strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ")
}

// others are the choices that concern neither a request nor what is recorded.
func others(names ...string) (all []choice) {
	for _, c := range []choice{
		{"next", (*replay).step},
		{"flush", func(r *replay) bool {
			if r.flushing > 0 {
				r.unflush(r.now)
			} else {
				r.flush(r.now)
			}
			return true
		}},
		{"forget", func(r *replay) bool {
			r.forget(r.now, r.keys[0])
			r.last[0].reason = "" // an order is no longer kept
			return true
		}},
		{"two minutes", func(r *replay) bool {
			r.now = r.now.add(2 * time.Minute)
			return true
		}},
		{"close", func(r *replay) bool {
			if r.closed {
				return false
			}
			r.close()
			return true
		}},
		{"expire", func(r *replay) bool {
			for i := range r.server {
				r.server[i].isGone = true
			}
			return len(r.server) > 0
		}},
	} {
		if contains(names, c.name) {
			all = append(all, c)
		}
	}
	return all
}

// outages are ten minutes in which the requests in one namespace fail while
// others succeed, or in which all fail.
func outages() []choice {
	isAll := func(*write) bool { return true }
	isFirst := func(w *write) bool { return w.object.namespace.name == "a" }
	return []choice{
		{"a fails for ten minutes", func(r *replay) bool {
			r.outage(isFirst)
			return true
		}},
		{"all fail for ten minutes", func(r *replay) bool {
			lost := r.losses[LostExpired]
			r.outage(isAll)
			if lost == nil && r.losses[LostExpired] != nil {
				r.complain("an Event is given up during an outage")
			}
			return true
		}},
	}
}

func choices(lists ...[]choice) (all []choice) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// plans are a wide world, and narrow worlds that go further.
func plans() []plan {
	full := smallBounds()
	full.objects = 1
	return []plan{
		{
			name: "all", bounds: smallBounds(), objects: []string{"a/x", "b/y"},
			depth: 5, short: 3,
			choices: choices(
				records(0, "fail", "other", "edit", "normal", "recover"),
				records(1, "fail", "normal"),
				answers(2),
				others("next", "flush", "forget", "expire"),
			),
		},
		{
			name: "one Event", bounds: smallBounds(), objects: []string{"a/x"},
			depth: 14, short: 8,
			choices: choices(
				records(0, "fail"),
				answers(1, "stored", "lost"),
				others("next"),
			),
		},
		{
			name: "one object", bounds: smallBounds(), objects: []string{"a/x"},
			depth: 10, short: 5,
			choices: choices(
				records(0, "fail", "other", "edit", "terminal"),
				answers(1, "stored", "503", "lost"),
				others("next"),
			),
		},
		{
			name: "failing and recovered", bounds: smallBounds(), objects: []string{"a/x"},
			depth: 7, short: 5,
			choices: choices(
				records(0, "fail", "normal", "recover"),
				answers(1, "stored", "lost", "time-out"),
				others("next", "flush", "forget"),
			),
		},
		{
			name: "one namespace", bounds: smallBounds(), objects: []string{"a/x", "a/y"},
			depth: 9, short: 5,
			choices: choices(
				records(0, "fail"),
				records(1, "fail"),
				answers(2, "stored", "503"),
				others("next"),
			),
		},
		{
			name: "two namespaces", bounds: smallBounds(), objects: []string{"a/x", "b/y"},
			depth: 9, short: 5,
			choices: choices(
				records(0, "fail"),
				records(1, "fail"),
				answers(2, "stored", "time-out"),
				others("next"),
			),
		},
		{
			name: "no room", bounds: full, objects: []string{"a/x", "b/y"},
			depth: 7, short: 5,
			choices: choices(
				records(0, "fail", "normal"),
				records(1, "fail", "normal"),
				answers(1, "stored", "503", "gone"),
				others("next", "forget"),
			),
		},
		{
			name: "refused", bounds: smallBounds(), objects: []string{"a/x"},
			depth: 10, short: 5,
			choices: choices(
				records(0, "fail", "other"),
				answers(1, "stored", "403", "422", "gone"),
				others("next", "expire"),
			),
		},
		{
			name: "conflicts", bounds: smallBounds(), objects: []string{"a/x"},
			depth: 7, short: 5,
			choices: choices(
				records(0, "fail", "conflict", "recover"),
				answers(1, "stored", "503"),
				others("next", "two minutes", "forget"),
			),
		},
		{
			name: "outages", bounds: smallBounds(), objects: []string{"a/x", "b/y"},
			depth: 4, short: 3,
			choices: choices(
				records(0, "fail", "other", "recover"),
				records(1, "fail", "normal", "other"),
				outages(),
				others("next", "flush"),
			),
		},
		{
			name: "the stop", bounds: smallBounds(), objects: []string{"a/x", "b/y"},
			depth: 6, short: 4,
			choices: choices(
				records(0, "fail", "other", "normal"),
				records(1, "fail"),
				answers(2, "stored", "503", "time-out"),
				others("next", "flush", "close"),
			),
		},
	}
}

// play replays an input. It returns nil if the last choice cannot be made.
func (p plan) play(seed maphash.Seed, input []uint8) *replay {
	r := newReplay(p, seed)
	for i, c := range input {
		done := p.choices[c].do(r)
		if !done && i == len(input)-1 {
			return nil
		}
	}
	return r
}

func (p plan) explain(input []uint8, problems []string) string {
	lines := []string{p.name + ": " + strings.Join(problems, "; ") + ", after:"}
	for _, c := range input {
		lines = append(lines, "  "+p.choices[c].name)
	}
	return strings.Join(lines, "\n")
}

// search visits all states up to a depth: the inputs of one length after those
// that are shorter by one. A state that was seen before is not followed again.
func (p plan) search(depth int) (states int, wrong string) {
	seed := maphash.MakeSeed()
	seen := map[uint64]bool{}
	inputs := [][]uint8{{}}
	for range depth {
		var longer [][]uint8
		for _, input := range inputs {
			for c := range p.choices {
				next := slices.Concat(input, []uint8{uint8(c)}) //nolint:gosec // few
				isNew, problems := p.visit(seed, next, seen)
				if len(problems) > 0 {
					return len(seen), p.explain(next, problems)
				}
				if isNew {
					longer = append(longer, next)
				}
			}
		}
		inputs = longer
	}
	return len(seen), ""
}

// visit holds the state after an input to the rules.
func (p plan) visit(seed maphash.Seed, input []uint8, seen map[uint64]bool) (isNew bool, problems []string) {
	r := p.play(seed, input)
	if r == nil {
		return false, nil
	}
	problems = r.check()
	mark := maphash.Bytes(seed, (&fingerprint{replay: r}).all())
	if len(problems) > 0 || seen[mark] {
		return false, problems
	}
	seen[mark] = true
	if r.flushing > 0 && !r.closed {
		problems = p.play(seed, input).stop(r.isWritten(r.now+1), r.isWritten(never))
	}
	if len(problems) > 0 {
		return true, append(problems, "in a stop")
	}
	problems = r.heal()
	if len(problems) > 0 {
		problems = append(problems, "once the server is well")
	}
	return true, problems
}

// TestSearch_OfShortInputs plays all short inputs to new books. In every state
// the caps hold, about an object in each minute and in total. Each occurrence
// is written, coalesced, suppressed, lost or pending. No first Warning waits
// behind an update of another object. From every state, a healthy server gets
// all pending Events in a few steps, and the Events show the latest notes. A
// stop waits for all new Events, and only while there is something to write.
func TestSearch_OfShortInputs(t *testing.T) {
	for _, p := range plans() {
		t.Run(p.name, func(t *testing.T) {
			depth := p.depth
			if hasRaceDetector || testing.Short() {
				depth = p.short
			}
			states, wrong := p.search(depth)
			require.Empty(t, wrong)
			assert.Greater(t, states, depth)
			t.Logf("complete to depth %d: %d states", depth, states)
		})
	}
}
