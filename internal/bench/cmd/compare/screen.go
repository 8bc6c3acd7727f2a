// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

// The names of the peers in the tables of the benchmarks.
const (
	ctrlRuntime = "controller-runtime"
	toolsRecord = "client-go tools/record"
	toolsEvents = "client-go tools/events"
	lister      = "lister"
	liveGet     = "lister, then live GET"
)

// figures are the rows of all measured groups.
type figures []bench.Row

// of returns the numbers of the library and of a peer.
func (f figures) of(measure, unit, peer string) (ours, theirs float64, err error) {
	for _, r := range f {
		if r.Measure == measure && r.Unit == unit && r.Peer == peer {
			if ours, err = strconv.ParseFloat(r.Ours, 64); err == nil {
				theirs, err = strconv.ParseFloat(r.PeerValue, 64)
			}
			return ours, theirs, err
		}
	}
	return 0, 0, fmt.Errorf("%s of %s was not measured: %s", unit, peer, measure)
}

// endpoints has the lowest number of ready endpoints, of five, while a
// Deployment became a canary and then a Deployment again.
type endpoints struct{ usual, ours int }

// about names the peers and the date.
func about(peers []string, at time.Time) string {
	var versions []string
	for _, p := range peers { // "its name (its/module v1.2.3)"
		if version := path.Base(strings.TrimSuffix(p[strings.LastIndex(p, "(")+1:], ")")); !strings.HasPrefix(version, "std ") { // the screen does not name Go's standard library
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return fmt.Sprintf("%s, Argo Rollouts' own controller; %s", strings.Join(slices.Compact(versions), ", "), at.UTC().Format(time.DateOnly))
}

// screen returns the comparison in 24 lines of 100 columns.
func screen(f figures, runs int, ready endpoints, about string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "The same faults for the usual way and for ours; each controller once, on a real control plane.\n%s\n\n", about)
	fmt.Fprintf(&b, "%-42s%13s%14s%14s%14s\n", fmt.Sprintf("%d AgentRuns; usual: controller-runtime", runs), "results lost", "run twice", "events lost", "writes a run")
	fmt.Fprintf(&b, "%-42s%s\n", "what is killed meanwhile", strings.Repeat("   usual  ours", 4)[1:])
	all := strconv.Itoa(runs) + " runs"
	for _, row := range []struct{ title, load string }{
		{"nothing", all},
		{"the API server, 3 times", all + ", API server killed 3 times"},
		{"the controller, 3 times", all + ", controller killed 3 times"},
		{"the leader of two replicas", all + ", the leader of two killed"},
		{"nothing; no run has a Job TTL of 0", all + ", no Job TTL of 0"},
	} {
		cells, err := f.load(row.load, runs)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%-42s%s\n", row.title, cells[1:])
	}
	b.WriteString("\n")
	for _, t := range tables(all) {
		if err := t.write(&b, f); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(&b, "%-58s%13s%14d%8d\n", "to a canary and back, usually apply and delete: ready of 5", "", ready.usual, ready.ours)
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"), nil
}

// table is a part of the screen: the numbers of one or two peers and of the
// library.
type table struct {
	title string
	peers []string // by the names in their heading
	rows  []row
}

type row struct {
	title, measure, unit string
	peers                []string // by the names in the results, one for each of the table's; empty if there is no number
}

func tables(load string) []table {
	recorders, apart, runtime := []string{toolsRecord, toolsEvents}, []string{lister, liveGet}, []string{"", ctrlRuntime}
	return []table{
		{"in virtual time, on a server in memory", []string{"tools/record", "tools/events"}, []row{
			{"5,000 failures at once, a write takes 50 ms: events lost", "burst of 5,000, API takes 50 ms", "lost", recorders},
			{"  requests at once", "burst of 5,000, API takes 50 ms", "requests at once", recorders},
			{"  seconds until the last is written", "burst of 5,000, API takes 50 ms", "s to the last", recorders},
			{"an object that changes fails 10,000 times: writes", "the same, its resourceVersion moving", "writes", recorders},
		}},
		{"on a server in memory", []string{"a lister", "and a GET"}, []row{
			{"1,000 new Jobs, the watch is 250 ms late: called missing", "just created, watch lags 250 ms", "falsely missing", apart},
			{"  requests", "just created, watch lags 250 ms", "GETs", []string{"", liveGet}},
		}},
		{"on the control plane", []string{"", "usually"}, []row{
			{"1,000 runs that ended, a minute: writes", "1000 idle runs, a minute: writes", bench.Requests, runtime},
			{"the leader is killed: seconds until the other one works", load + ", the leader of two killed: takeover, until the other's first write", "s", runtime},
		}},
	}
}

func (t table) write(b *strings.Builder, f figures) error {
	fmt.Fprintf(b, "%-58s%13s%14s%8s\n", t.title, t.peers[0], t.peers[1], "ours")
	for _, r := range t.rows {
		fmt.Fprintf(b, "%-58s", r.title)
		var ours float64
		for i, peer := range r.peers {
			cell := ""
			if peer != "" {
				var theirs float64
				var err error
				if ours, theirs, err = f.of(r.measure, r.unit, peer); err != nil {
					return err
				}
				cell = strconv.FormatFloat(theirs, 'f', 0, 64)
			}
			fmt.Fprintf(b, "%*s", 13+i, cell)
		}
		fmt.Fprintf(b, "%8.0f\n", ours)
	}
	return nil
}

// load returns the row of a load.
func (f figures) load(name string, runs int) (string, error) {
	var b strings.Builder
	for _, column := range []struct {
		unit     string
		measures []string // added up
		each     int
	}{
		{"runs", []string{"outcomes wrong", "outcomes missing"}, 1},
		{"runs", []string{"run more than once"}, 1},
		{"runs", []string{"failures without an event"}, 1},
		{bench.Requests, []string{"requests, writes"}, runs},
	} {
		var ours, theirs float64
		for _, m := range column.measures {
			a, b, err := f.of(name+": "+m, column.unit, ctrlRuntime)
			if err != nil {
				return "", err
			}
			ours, theirs = ours+a, theirs+b
		}
		digits := min(column.each-1, 1) // of numbers that are not counts
		each := float64(column.each)
		fmt.Fprintf(&b, "%8.*f%6.*f", digits, theirs/each, digits, ours/each)
	}
	return b.String(), nil
}
