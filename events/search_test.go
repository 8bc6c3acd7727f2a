// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/proompteng/controllerkit/events"
)

// steps are what may happen to one object, and to the API server.
var steps = []struct {
	name string
	do   func(p *play)
}{
	{"one", func(p *play) { p.fail("one") }},
	{"two", func(p *play) { p.fail("two") }},
	{"recover", func(p *play) { p.recover() }},
	{"other", func(p *play) { p.rec.Eventf(object("a"), nil, "Normal", "Other", "Run", "other") }},
	{"1s", func(*play) { time.Sleep(time.Second) }},
	{"25s", func(*play) { time.Sleep(25 * time.Second) }},
	{"500", func(p *play) { p.answer("500") }},
	{"stored", func(p *play) { p.answer("stored") }},
	{"403", func(p *play) { p.answer("403") }},
	{"hangs", func(p *play) { p.answer("hangs") }},
	{"ok", func(p *play) { p.answer("ok") }},
	{"flush", func(p *play) {
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		_ = p.rec.Flush(ctx)
	}},
}

// A play is a Recorder that steps are played to.
type play struct {
	*scene

	t         *testing.T
	rec       *events.Recorder
	isFailing bool
	text      string // of the last failure
	recovered int    // calls
	isUnsure  bool   // an update may have been stored without an answer, and is counted again
}

func (p *play) fail(text string) {
	p.rec.FailureReason(object("a"), "Away", errors.New(text))
	p.isFailing = true
	p.text = text
}

func (p *play) recover() {
	p.rec.Failure(object("a"), nil)
	p.isFailing = false
	p.recovered++
}

// answer is what the server says from now on. A 403 is of one group.
func (p *play) answer(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = map[string]string{"all": name}
	p.isUnsure = p.isUnsure || name == "stored"
	if name == "403" {
		p.answers = map[string]string{"runs:events": name}
	}
}

// TestSearch_OfShortInputs plays each input of three steps, and longer ones at
// random. In the end the server answers, and then every occurrence is in the
// count of an Event, the last row is what the object is, and its newest text is
// shown.
func TestSearch_OfShortInputs(t *testing.T) {
	n := len(steps)
	for i := range n * n * n {
		playSteps(t, []int{i / n / n, i / n % n, i % n})
	}
	d := newDice(1)
	for range 2000 {
		input := make([]int, 4+d.roll(12))
		for i := range input {
			input[i] = d.roll(n)
		}
		playSteps(t, input)
	}
}

func playSteps(t *testing.T, input []int) {
	t.Helper()
	names := make([]string, 0, len(input))
	var problems []string
	synctest.Test(t, func(t *testing.T) {
		p := &play{scene: &scene{}, t: t}
		p.begin(t, events.Options{})
		p.rec = p.recorder
		for _, i := range input {
			names = append(names, steps[i].name)
			steps[i].do(p)
			time.Sleep(time.Millisecond) // no two steps are at one instant
			synctest.Wait()
			problems = append(problems, events.Unbalanced(p.rec)...)
		}
		p.answer("ok")
		time.Sleep(3 * time.Hour)
		problems = append(problems, p.check()...)
		_ = p.stop()
		assertCap(t, p.server, 5)
	})
	if len(problems) > 0 {
		t.Fatalf("%s: %s", strings.Join(names, ", "), strings.Join(problems, "; "))
	}
}

// check returns what is wrong in the end.
func (p *play) check() (problems []string) {
	st := p.rec.Stats()
	counted := int64(0)
	var states []*eventsv1.Event
	for _, ev := range p.all() {
		counted += int64(countOf(ev))
		if ev.Reason != "Other" {
			states = append(states, ev)
		}
	}
	dropped := st.Recorded - counted // recoveries that were not true any more
	isTwice := dropped < 0 && !p.isUnsure
	if isTwice || dropped > int64(p.recovered) || len(st.Lost) > 0 || st.Pending > 0 {
		problems = append(problems, fmt.Sprintf("%d of %d are counted: %+v", counted, st.Recorded, st))
	}
	if p.text == "" {
		return problems
	}
	last := states[len(states)-1]
	if p.isFailing == (last.Reason == events.Recovered) {
		problems = append(problems, fmt.Sprintf("the last row is %s, failing %t", last.Reason, p.isFailing))
	}
	newest := &eventsv1.Event{}
	for _, ev := range states {
		if ev.Reason != events.Recovered && !lastSeen(ev).Before(lastSeen(newest)) {
			newest = ev
		}
	}
	if newest.Note != p.text {
		problems = append(problems, fmt.Sprintf("the newest text is %q, not %q", newest.Note, p.text))
	}
	return problems
}
