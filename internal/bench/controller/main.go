// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controller compares the whole example controller with two others that
// are written with controller-runtime (folder baseline), on one real control
// plane. It measures a load of AgentRuns while everything is healthy, and while
// the API server, the controller or the leader of two replicas is killed. It
// also measures idle runs.
//
// They run as separate processes with separate users, one after the other. CPU
// time and peak memory are the kernel's numbers for the whole process, from its
// start to its end. Requests come from the API server's audit log. Outcomes are
// compared with the annotations that tell the fake kubelet how to end the pods.
//
// A third of the runs of a load ask for a Job TTL of 0. The usual controller
// sets it when it creates the Job, as Kubernetes documents, although the field
// says "once its result is recorded". A controller that is busy may then not
// see how the Job ended before the Job is gone. Its wrong outcomes were such
// runs, reported as WorkflowJobMissing, when they were listed. It saves
// requests for such runs, so another load has none of them. The Jobs of the
// other runs stay for ten minutes. The careful controller and the example set
// the TTL after the outcome is recorded, and lose nothing by that.
//
// A server that has just started refuses valid requests for a moment, and a
// refused informer of client-go tries again up to a minute later. The time of a
// load with a killed API server therefore varies for all.
//
// The example reads the owner live before it creates a Job, so a stale replica
// creates nothing twice. The careful controller relies on its cache there. All
// have four workers, so slow requests cost time.
//
// BENCH_RUNS has the numbers of runs, "500" by default. BENCH_IDLE has the
// numbers of idle runs, "1000,5000" by default. BENCH_ROUNDS is how often each
// load runs, once by default. The numbers are then medians.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	_ "sigs.k8s.io/controller-runtime/pkg/scheme" // the table names its version

	"github.com/proompteng/controllerkit/internal/bench"
)

// The names of the controllers in the table. The first is the library.
const (
	careful = "controller-runtime, careful"
	usual   = "controller-runtime"

	controllers = 3
)

var names = [controllers]string{"ours", careful, usual}

func main() {
	s := new(stand)
	rounds, err := numbers("BENCH_ROUNDS", "1")
	if err == nil && len(rounds) != 1 {
		err = errors.New("BENCH_ROUNDS: want one number")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(2)
	}
	const module = "sigs.k8s.io/controller-runtime"
	bench.Main(bench.Group{
		Package:  "controller",
		Peers:    []bench.Peer{{Name: usual, Module: module}, {Name: careful, Module: module}},
		Measures: func(ctx context.Context) ([]bench.Measure, error) { return measures(ctx, s, rounds[0]) },
		Note:     note(rounds[0]),
		Remark:   targets,
		End:      s.down,
	})
}

// measures returns the selected measures. Nothing starts before the first of
// them runs.
func measures(ctx context.Context, s *stand, rounds int) ([]bench.Measure, error) {
	runs, err := numbers("BENCH_RUNS", "500")
	if err != nil {
		return nil, err
	}
	idle, err := numbers("BENCH_IDLE", "1000,5000")
	if err != nil {
		return nil, err
	}
	var all []bench.Measure
	for _, n := range runs {
		for _, l := range []load{
			{runs: n},
			{runs: n, kept: true},
			{runs: n, fault: theAPIServer},
			{runs: n, fault: theController},
			{runs: n, fault: theLeader},
		} {
			all = append(all, s.underLoad(ctx, l, rounds)...)
		}
	}
	for _, n := range idle {
		all = append(all, s.idle(ctx, n)...)
	}
	return all, nil
}

// targets says what the example is held to, and why it may miss that.
const targets = "Targets: at most 1.0x of the writes, CPU time and memory of the careful controller, " +
	"and 1.05x of its requests.\n" +
	"The example reads each run live before it creates the Job, so that a stale replica creates none. " +
	"That costs one request\n" +
	"a run and its CPU time. Its first status write waits until the Job has started, " +
	"for at most two seconds. The others\n" +
	"write that the Job exists, and later that it runs. After a kill it repeats the Event of a failure " +
	"whose Job was not\n" +
	"released yet, rather than lose it. While its watch of Jobs is broken, it reads them live, " +
	"so that no result is late."

// note says how it is measured, and the load of the machine at the start, which
// matters here.
func note(rounds int) string {
	how := "each controller in a separate process, measured once, on the same control plane"
	if rounds > 1 {
		how = fmt.Sprintf("each controller in a separate process, on the same control plane; "+
			"medians of %d rounds, taken alternately, idle runs once", rounds)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return how
	}
	average, _, _ := strings.Cut(string(load), " ")
	return how + "; the machine's load was " + average + " when it began"
}

// numbers reads a list of numbers from an environment variable.
func numbers(name, otherwise string) (all []int, err error) {
	text, found := os.LookupEnv(name)
	if !found {
		text = otherwise
	}
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || n < 1 {
			const refused = "%s: %q is not accepted; want whole numbers above 0, separated by commas"
			return nil, fmt.Errorf(refused, name, text)
		}
		all = append(all, n)
	}
	return all, nil
}
