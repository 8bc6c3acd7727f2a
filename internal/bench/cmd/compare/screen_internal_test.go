// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/bench"
)

// measured has all numbers of a run: 0 for the library and 2,000 for the
// baseline.
func measured() (f figures) {
	add := func(measure, unit, peer string) {
		f = append(f, bench.Row{Measure: measure, Unit: unit, Peer: peer, Ours: "0", PeerValue: "2000"})
	}
	for _, load := range []string{"", ", API server killed 3 times", ", controller killed 3 times", ", the leader of two killed", ", no Job TTL of 0"} {
		for _, m := range []string{"outcomes wrong", "outcomes missing", "run more than once", "failures without an event"} {
			add("2000 runs"+load+": "+m, "runs", ctrlRuntime)
		}
		add("2000 runs"+load+": requests, writes", bench.Requests, ctrlRuntime)
	}
	for _, peer := range []string{toolsRecord, toolsEvents} {
		for _, unit := range []string{"lost", "requests at once", "s to the last"} {
			add("burst of 5,000, API takes 50 ms", unit, peer)
		}
		add("the same, its resourceVersion moving", "writes", peer)
	}
	add("just created, watch lags 250 ms", "falsely missing", lister)
	add("just created, watch lags 250 ms", "falsely missing", liveGet)
	add("just created, watch lags 250 ms", "GETs", liveGet)
	add("1000 idle runs, a minute: writes", bench.Requests, ctrlRuntime)
	add("2000 runs, the leader of two killed: takeover, until the other's first write", "s", ctrlRuntime)
	return f
}

func TestItFitsAScreen(t *testing.T) {
	peers := []string{
		"tools/record, tools/events (k8s.io/client-go v0.37.2)", "controller-runtime (sigs.k8s.io/controller-runtime v0.25.2)",
		"listers and informers (k8s.io/client-go v0.37.2)", "one regexp (std go1.26.8)",
	}
	text, err := screen(measured(), 2000, endpoints{usual: 0, ours: 5}, about(peers, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	assert.Less(t, len(lines), 24)
	for _, line := range lines {
		assert.LessOrEqual(t, len(line), 100, line)
	}
	assert.Equal(t, "client-go v0.37.2, controller-runtime v0.25.2, Argo Rollouts' own controller; 2026-01-02", lines[1])
	assert.Contains(t, text, "\nnothing                                      4000     0    2000     0    2000     0     1.0   0.0\n", "wrong and missing are both lost")
	assert.Regexp(t, "ready of 5 +0 +5\n", text)
}

func TestWhatWasNotMeasuredIsNotMadeUp(t *testing.T) {
	all := measured()
	for i, missing := range all {
		_, err := screen(append(append(figures{}, all[:i]...), all[i+1:]...), 2000, endpoints{}, "about")
		assert.ErrorContains(t, err, missing.Measure)
	}
}

func TestSaid(t *testing.T) {
	attr := func(test, key, value string) string {
		return `{"Action":"attr","Test":"` + test + `","Key":"` + key + `","Value":"` + value + `"}` + "\n"
	}
	both := attr(naive, "least-ready-endpoints", "0") + attr(adopt, "least-ready-endpoints", "5")
	cases := map[string]struct {
		reason string
		output string
		want   endpoints
		fails  bool
	}{
		"Both":   {"One number of each.", both, endpoints{0, 5}, false},
		"Least":  {"There and back: the worse way counts.", both + attr(adopt, "least-ready-endpoints", "4"), endpoints{0, 4}, false},
		"Others": {"Other lines and keys are nothing to us.", "ok\n" + both + attr(naive, "other", "-1") + `{"Action":"pass"}`, endpoints{0, 5}, false},
		"One":    {"A test that did not run says nothing, which is not 0.", attr(naive, "least-ready-endpoints", "0"), endpoints{}, true},
		"NaN":    {"Nor is a word.", both + attr(naive, "least-ready-endpoints", "none"), endpoints{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := said([]byte(tc.output))
			assert.Equal(t, tc.fails, err != nil, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
}
