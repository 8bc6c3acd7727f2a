// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controller measures the whole example controller beside the same controller as it is usually written (folder usual), on one
// real control plane: what a load of AgentRuns costs with all healthy, with the API server killed in between, with the
// controller itself, and with the leader of two replicas; and what idle ones cost.
//
// Both run as processes of their own under identities of their own, one after the other. CPU time and peak memory are the kernel's count
// of the whole process, from its start to its end; requests are those in the API server's audit log; what became of the runs is held
// against the annotations by which the stand-in for the kubelet ended their pods.
//
// A third of the runs of a load ask for a Job TTL of 0. The usual controller gives it to the Job when it makes it, as Kubernetes documents
// it, though the field's words are "once its result is recorded", and so the Job may be gone before a controller that is behind with its work
// has seen how it ended: its wrong outcomes were all such runs, reported as WorkflowJobMissing, when they were listed. How many they are is
// luck: of 500 runs with the API server killed once 153, and once 3. What is not done for them saves requests; so there is a load
// without such runs too, of which both do the same work. The other runs' Jobs stay for ten minutes.
//
// A server that has just started refuses for a moment what it grants, and an informer of client-go that is refused asks again up to a minute
// later: how long a load takes while the API server is killed is luck for either.
//
// What ours asks for beyond the usual one then are two requests a run, each for a promise of package jobgc: the Job's name is recorded
// before the Job is created, so that one whose view is old conflicts instead of doing the work again; and the Job is let go by a patch
// after its end is recorded, so that no TTL takes it before. Both have four workers: where a request takes long, each of them is time.
//
// BENCH_RUNS are the numbers of runs, "500" by default; BENCH_IDLE are those of idle ones, "1000,5000" by default.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	_ "sigs.k8s.io/controller-runtime/pkg/scheme" // its version is told in the table

	"github.com/proompteng/controllerkit/internal/bench"
)

const usual = "controller-runtime"

func main() {
	s := new(stand)
	measures, err := measures(context.Background(), s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(2)
	}
	bench.Main(bench.Group{
		Package:  "controller",
		Peers:    []bench.Peer{{Name: usual, Module: "sigs.k8s.io/controller-runtime"}},
		Measures: measures,
		Note:     note(),
		End:      s.down,
	})
}

// measures are all that is asked for. Nothing starts before the first of them is done.
func measures(ctx context.Context, s *stand) ([]bench.Measure, error) {
	runs, err := numbers("BENCH_RUNS", "500")
	if err != nil {
		return nil, err
	}
	idle, err := numbers("BENCH_IDLE", "1000,5000")
	if err != nil {
		return nil, err
	}
	var all []bench.Measure
	var working, resting []point
	for _, n := range runs {
		for _, l := range []load{
			{runs: n}, {runs: n, kept: true}, {runs: n, fault: theAPIServer}, {runs: n, fault: theController}, {runs: n, fault: theLeader},
		} {
			more, cpu := s.underLoad(ctx, l)
			if all = append(all, more...); l.fault == nothing && !l.kept {
				working = append(working, cpu)
			}
		}
	}
	for _, n := range idle {
		more, resident := s.idle(ctx, n)
		all, resting = append(all, more...), append(resting, resident)
	}
	return slices.Concat(all, growth("runs: CPU time", "ms", 1000, working), growth("idle runs: memory", "KiB", 1024, resting)), nil
}

// note says how it is measured, and how busy the machine was when it began: here that counts.
func note() string {
	const how = "each controller a process of its own, measured once, on the same control plane"
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return how
	}
	average, _, _ := strings.Cut(string(load), " ")
	return how + "; the machine's load was " + average + " when it began"
}

// numbers reads a list of numbers from the environment.
func numbers(name, otherwise string) (all []int, err error) {
	text, found := os.LookupEnv(name)
	if !found {
		text = otherwise
	}
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s: %q is not accepted; want whole numbers above 0, separated by commas", name, text)
		}
		all = append(all, n)
	}
	return all, nil
}
