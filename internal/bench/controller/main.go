// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controller compares the whole example controller with others that are
// written by hand with controller-runtime (internal/demo/baseline), on one real
// control plane. It measures a load of AgentRuns while everything is healthy,
// and while the API server, the controller or the leader of two replicas is
// killed. It also measures a start with runs that have ended.
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
// The careful controller reads a run live before it creates the Job, as the
// example does. Some loads have another one that trusts its cache there. All
// have 50 workers.
//
// A server that has just started refuses valid requests for a moment, and a
// refused informer of client-go tries again up to a minute later. The time of a
// load with a killed API server therefore varies for all.
//
// BENCH_RUNS has the number of runs, 500 by default, and BENCH_ENDED the number of
// ended runs, 1000 by default. BENCH_ROUNDS is how often each load runs, once
// by default. The numbers are then medians.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "sigs.k8s.io/controller-runtime/pkg/scheme" // the table names its version

	"github.com/proompteng/controllerkit/internal/bench"
)

// The names of the peers in the table.
const (
	careful = "careful"
	usual   = "usual"
	cached  = "careful without the live read"
)

func main() {
	runs, err := numberOf("BENCH_RUNS", "500")
	ended, noEnded := numberOf("BENCH_ENDED", "1000")
	rounds, noRounds := numberOf("BENCH_ROUNDS", "1")
	if err := errors.Join(err, noEnded, noRounds); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(2)
	}
	const module = "sigs.k8s.io/controller-runtime"
	bench.Main(bench.Group{
		Package: "controller",
		Peers: []bench.Peer{
			{Name: usual, Module: module}, {Name: careful, Module: module}, {Name: cached, Module: module},
		},
		Measures: func(t *testing.T) ([]bench.Measure, error) {
			t.Helper()
			s := new(stand)
			t.Cleanup(func() { assert.NoError(t, s.down()) })
			if err := s.start(t.Context()); err != nil {
				return nil, err
			}
			return s.measures(t.Context(), runs, ended, rounds), nil
		},
		Note:   note(rounds),
		Remark: targets,
	})
}

// measures returns the measures of the loads and of a start with ended runs.
func (s *stand) measures(ctx context.Context, runs, ended, rounds int) []bench.Measure {
	var all []bench.Measure
	for _, l := range loads(runs) {
		all = append(all, s.underLoad(ctx, l, rounds))
	}
	return append(all, s.afterTheEnd(ctx, ended))
}

// targets are for the readers of the table.
//
//go:embed remark.txt
var targets string

// note says how it is measured, and the load of the machine at the start, which
// matters here.
func note(rounds int) string {
	how := "each controller in a separate process, measured once, on the same control plane"
	if rounds > 1 {
		how = fmt.Sprintf("each controller in a separate process, on the same control plane; "+
			"medians of %d rounds, taken alternately, the start once", rounds)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return how
	}
	average, _, _ := strings.Cut(string(load), " ")
	return how + "; the machine's load was " + average + " when it began"
}

func numberOf(variable, otherwise string) (int, error) {
	text := cmp.Or(os.Getenv(variable), otherwise)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is not accepted; want a whole number above 0", variable, text)
	}
	return n, nil
}
