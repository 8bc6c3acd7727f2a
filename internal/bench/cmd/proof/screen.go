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

// The peers by the names that they have in the tables of the benches.
const (
	ctrlRuntime = "controller-runtime"
	toolsRecord = "client-go tools/record"
	toolsEvents = "client-go tools/events"
	lister      = "lister"
)

// figures are the rows of all groups that were measured.
type figures []bench.Row

// of is what was measured for ours and for a peer.
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

// endpoints are how many of five were ready at the least while a Deployment became a canary.
type endpoints struct{ usual, ours int }

// about says what the peers are, and when they were measured.
func about(peers []string, at time.Time) string {
	var versions []string
	for _, p := range peers { // "its name (its/module v1.2.3)"
		if version := path.Base(strings.TrimSuffix(p[strings.LastIndex(p, "(")+1:], ")")); !strings.HasPrefix(version, "std ") { // beside Go's own library nothing is on the screen
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return fmt.Sprintf("%s, Argo Rollouts' own controller; %s", strings.Join(slices.Compact(versions), ", "), at.UTC().Format(time.DateOnly))
}

// screen says it all in 24 lines of 100 columns.
func screen(f figures, runs int, ready endpoints, about string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "The same faults for the usual way and for ours, on a real control plane, measured in one run.\n%s\n\n", about)
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
	fmt.Fprintf(&b, "\n%-64s%8s%8s\n", "", "usually", "ours")
	for _, row := range []struct{ title, measure, unit, peer, by string }{
		{"5,000 failures at once, a write takes 50 ms: events lost", "burst of 5,000, API takes 50 ms", "lost", toolsRecord, "tools/record"},
		{"the same: requests at once", "burst of 5,000, API takes 50 ms", "requests at once", toolsEvents, "tools/events"},
		{"an object fails 10,000 times while its status is written: writes", "the same, its resourceVersion moving", "writes", toolsEvents, "tools/events"},
		{"1,000 new Jobs, the watch is 250 ms late: called missing", "just created, watch lags 250 ms", "falsely missing", lister, "a lister"},
		{"1,000 runs that ended, a minute: writes", "1000 idle runs, a minute: writes", bench.Requests, ctrlRuntime, ""},
		{"the leader is killed: seconds until the other one works", all + ", the leader of two killed: takeover, until the other's first write", "s", ctrlRuntime, ""},
	} {
		ours, theirs, err := f.of(row.measure, row.unit, row.peer)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%-64s%8.0f%8.0f  %s\n", row.title, theirs, ours, row.by)
	}
	fmt.Fprintf(&b, "%-64s%8d%8d  %s\n", "a Deployment of 5 becomes a canary: least ready endpoints", ready.usual, ready.ours, "apply, delete")
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"), nil
}

// load is the row of a load.
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
