// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/proompteng/controllerkit/internal/bench"
)

// The subjects, by their names in the tables of the benchmarks.
const (
	ours        = "ours"
	careful     = "controller-runtime, careful"
	usual       = "controller-runtime"
	toolsRecord = "client-go tools/record"
	toolsEvents = "client-go tools/events"
	lister      = "lister"
	liveGet     = "lister, then live GET"
)

// controllers are compared in this order.
var controllers = []struct{ name, subject string }{
	{"usual", usual}, {"careful", careful}, {"controllerkit", ours},
}

// column is one number of each controller in each load.
type column struct {
	head, measure, unit string
	digits              int
}

var (
	losses = []column{
		{"results lost", "results lost", "runs", 0},
		{"Jobs run twice", "run more than once", "runs", 0},
		{"events lost", "failures without an event", "runs", 0},
	}
	costs = []column{
		{"API writes a run", "writes a run", bench.Requests, 2},
		{"API requests a run", "requests a run", bench.Requests, 2},
		{"CPU, s", "CPU time", "s", 2},
		{"memory, MiB", "peak memory", "MiB", 0},
	}
)

// load is a load of runs, by its title and by the rest of its name.
type load struct{ title, short, name string }

var loads = []load{
	{"nothing fails", "nothing fails", ""},
	{"the API server is killed 3 times", "API server killed", ", API server killed 3 times"},
	{"the controller is killed 3 times", "controller killed", ", controller killed 3 times"},
	{"the leader of two is killed", "leader killed", ", the leader of two killed"},
	{"nothing fails, no Job TTL of 0", "", ", no Job TTL of 0"},
}

// text returns COMPARE.txt.
func (c *comparison) text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `Three controllers of the same AgentRuns under the same faults, on a real control plane.
usual          controller-runtime; the TTL of a Job is set when the Job is created
careful        controller-runtime; the TTL is set after the result is recorded under an optimistic lock
controllerkit  examples/agentrun, made of its packages
%s
Medians of %d rounds, and the lowest and the highest number where the rounds differ.

`, strings.Join(c.About, "\n"), c.Rounds)
	fmt.Fprintf(&b, "Faults: %d runs, a third with a Job TTL of 0 (RUNS=%d ROUNDS=%d make compare)\n",
		c.Runs, c.Runs, c.Rounds)
	c.writeLoads(&b, losses, false)
	b.WriteString("\nCosts of the same runs (the same command)\n")
	c.writeLoads(&b, costs, true)
	for _, t := range tables(c.Runs) {
		b.WriteString("\n")
		t.write(&b, c)
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"), c.missing
}

// writeLoads writes a row for each load and controller, and the ratios to the
// careful one if they are asked for.
func (c *comparison) writeLoads(b *strings.Builder, columns []column, ratios bool) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "meanwhile\tcontroller")
	for _, col := range columns {
		fmt.Fprint(w, "\t"+col.head)
	}
	fmt.Fprintln(w)
	for _, l := range loads {
		title := l.title
		for _, of := range controllers {
			fmt.Fprint(w, title+"\t"+of.name)
			title = ""
			for _, col := range columns {
				fmt.Fprint(w, "\t"+cell(c.figure(l, col, of.subject), col.digits))
			}
			fmt.Fprintln(w)
		}
		if !ratios {
			continue
		}
		fmt.Fprint(w, "\tcontrollerkit / careful")
		for _, col := range columns {
			fmt.Fprintf(w, "\t%.2fx", c.ratio(l, col, ours))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a Builder returns no error
}

// table has the numbers of a package and of its peers.
type table struct {
	title, command string
	heads          [2]string // of the peers
	rows           []row
}

type row struct {
	title, measure, unit string
	peers                [2]string // empty without a number
}

func tables(runs int) []table {
	recorders, looks := [2]string{toolsRecord, toolsEvents}, [2]string{lister, liveGet}
	const (
		burst   = "burst of 5,000, API takes 50 ms"
		moved   = "an object that changes fails 10,000 times, 1 s apart"
		created = "just created, watch lags 250 ms"
		idle    = "1000 idle runs, a minute: writes"
		memory  = "on a server in memory"
		group   = "make bench GROUP="
	)
	recordAndEvents := [2]string{"tools/record", "tools/events"}
	listerAndGet := [2]string{"a lister", "and a GET"}
	takeover := fmt.Sprintf(
		"%d runs, the leader of two killed: takeover, until the other's first write", runs)
	both := [2]string{usual, careful}
	applyAndReference := [2]string{"apply, delete", byReference}
	return []table{
		{"Events, " + memory, group + "events", recordAndEvents, []row{
			{"5,000 failures at once, a write takes 50 ms: events lost", burst, "lost", recorders},
			{"  requests at once", burst, "requests at once", recorders},
			{"  seconds until the last is written", burst, "s to the last", recorders},
			{"an object that changes fails 10,000 times: writes", moved, "writes", recorders},
		}},
		{"Jobs, " + memory, group + "jobgc", listerAndGet, []row{
			{"1,000 new Jobs, the watch is 250 ms late: called missing", created, "falsely missing", looks},
			{"  requests", created, "GETs", [2]string{"", liveGet}},
		}},
		{"Controllers, on the control plane", "make compare", [2]string{"usual", "careful"}, []row{
			{"1,000 runs that ended, a minute: writes", idle, bench.Requests, both},
			{"the leader is killed: seconds until the other one works", takeover, "s", both},
		}},
		{"To a canary and back, on Argo Rollouts", "make compare", applyAndReference, []row{
			{"a Deployment of 5: fewest ready pods", canary, least, [2]string{naively, byReference}},
			{"  most ready pods", canary, most, [2]string{naively, byReference}},
			{"  pods of the Deployment in the end", canary, last, [2]string{naively, byReference}},
		}},
	}
}

func (t table) write(b *strings.Builder, c *comparison) {
	fmt.Fprintf(b, "%s (%s)\n", t.title, t.command)
	fmt.Fprintf(b, "%-57s%14s%14s%15s\n", "", t.heads[0], t.heads[1], "controllerkit")
	for _, r := range t.rows {
		fmt.Fprintf(b, "%-57s", r.title)
		for i, subject := range []string{r.peers[0], r.peers[1], ours} {
			text := ""
			if subject != "" {
				text = cell(c.of(r.measure, r.unit, subject), 0)
			}
			fmt.Fprintf(b, "%*s", 14+i/2, text)
		}
		b.WriteString("\n")
	}
}
