// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// row counts the plans of one pattern.
type row struct {
	generated, plans, right              int
	lost, doubled, missing, never, event int
	other                                int
}

// counts are the plans of one controller.
type counts struct {
	controller string
	rows       map[pattern]*row
}

func (c *counts) add(p pattern, v verdict) {
	r := c.rows[p]
	r.plans++
	for n, is := range map[*int]bool{
		&r.right: v.right(), &r.lost: v.lost, &r.doubled: v.doubled, &r.missing: v.missing,
		&r.never: v.never, &r.event: v.event, &r.other: v.other,
	} {
		if is {
			*n++
		}
	}
}

// assertPlayed checks that there were plans of each pattern.
func (c *counts) assertPlayed(t *testing.T) {
	t.Helper()
	for p, r := range c.rows {
		assert.Positive(t, r.plans, p)
		t.Logf("%s: %+v", p, *r)
	}
}

// table has the counts of each controller, in the order of contestants.
type table []counts

func newTable() table {
	var t table
	for _, c := range contestants() {
		rows := map[pattern]*row{}
		for _, p := range patterns() {
			rows[p] = new(row)
		}
		t = append(t, counts{c.name, rows})
	}
	return t
}

const intro = `# Sieve's three patterns

` + "`make sieve`" + ` writes this page. It plays the faults of Sieve (OSDI 2022) with whole controllers, in virtual time and
against an API server in memory (package internal/bench/sieve).

A run without faults shows which writes the controller, the user and Kubernetes make. A plan is one
fault at one of these writes, and the command plays all of them:

- **Killed before or after a write** of the controller. The write does not arrive, or its answer does not. The next
  process starts a second later.
- **Restarted with an old cache.** The process is killed after a write, and the lists and watches of the next one end
  before this write or before an earlier one. After a minute they continue. Single reads see the present, as the API
  server's do.
- **An event is hidden** from the watches of AgentRuns and Jobs. The watches show what comes later. After five minutes
  they expire, and the informers list again. Without a list no controller could learn of the last event of an object.

There are %d kinds of runs. They succeed, fail, exceed their time, get their pods late, release their Job immediately,
expire, are cancelled, resumed, refused, deleted, deleted with their owner or created again, wait for their Secret, or
lose their Job to another client.

A plan has ended right if it ends as the run without faults: the same phase, reason, message, conditions and times of
the Job, the same number of Jobs, no finalizer and nothing else left, the Event of the failure, and each version of the
status in accord with the contract. Otherwise the columns say what went wrong:

- *result lost*: the run ended with another phase than without faults.
- *second Job*: the controller created one Job more.
- *falsely missing*: a status said WorkflowJobMissing, and without faults none did.
- *never ended*: the run has not ended after twenty minutes.
- *Event lost*: the failure has no Event.
- *other*: anything else.

| controller | pattern | plans | ended right | result lost | second Job | falsely missing | never ended | Event lost | other |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
`

const outro = `
A test fails if a plan of controllerkit does not end right. One thing is allowed: a process that is killed after it has
recorded the end of a run and before it has written the Event may lose the Event. The next process writes it if the
first list shows the failed run and its Job, which is not released yet. It cannot do so for a run without a Job.

The careful controller creates a second Job if its cache shows the run without one and the first Job is already gone,
because it does not read the run live before. If its first status is the end of a cancelled run, that run has no start
time. The usual controller believes a cache that has no Job, and sets the TTL before the result is recorded.

The counts of these two differ a little from run to run.
`

func (t table) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, intro, len(stories()))
	for _, c := range t {
		for _, p := range patterns() {
			r := c.rows[p]
			fmt.Fprintf(&text, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", c.controller, p,
				r.plans, r.right, r.lost, r.doubled, r.missing, r.never, r.event, r.other)
		}
	}
	text.WriteString(outro)
	return text.String()
}
