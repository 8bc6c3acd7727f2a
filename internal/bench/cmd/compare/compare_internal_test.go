// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/bench"
)

func TestBenched_TakesTheRowsOfThePackages(t *testing.T) {
	rows := []bench.Row{{Package: "status", Measure: "just created, watch lags 250 ms", Unit: "GETs", Ours: "7", Peer: liveGet, PeerValue: "8"}}
	for _, peer := range []string{"-", lister, "lister, again after 100 ms", liveGet} {
		rows = append(rows, bench.Row{Package: "jobgc", Measure: "just created, watch lags 250 ms", Unit: "falsely missing", Ours: "0", Peer: peer, PeerValue: "1000"})
	}
	got, err := benched(bench.EncodeTSV(rows), 300)
	require.NoError(t, err)
	figure := func(subject string, v float64) bench.Figure {
		return bench.Figure{Measure: rows[1].Measure, Unit: rows[1].Unit, Subject: subject, Median: v, Least: v, Most: v}
	}
	assert.Equal(t, []bench.Figure{figure(lister, 1000), figure(ours, 0), figure(liveGet, 1000)}, got)
	rows[2].PeerValue = "many"
	_, err = benched(bench.EncodeTSV(rows), 300)
	assert.Error(t, err)
}

// TestFiles_AreThoseOfTheMeasuredFigures: nobody edits a number by hand.
func TestFiles_AreThoseOfTheMeasuredFigures(t *testing.T) {
	at := filepath.Join("..", "..")
	data, err := os.ReadFile(filepath.Join(at, dataFile))
	require.NoError(t, err)
	var c comparison
	require.NoError(t, json.Unmarshal(data, &c))
	text, err := c.text()
	require.NoError(t, err)
	picture, err := c.picture()
	require.NoError(t, err)
	for name, want := range map[string]string{textFile: text, pictureFile: picture} {
		got, err := os.ReadFile(filepath.Join(at, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "run make compare DRAW=1")
	}
	for i, missing := range c.Figures {
		less := c
		less.Figures = slices.Delete(slices.Clone(c.Figures), i, i+1)
		if without, err := less.text(); err != nil {
			assert.ErrorContains(t, err, missing.Measure)
		} else {
			assert.Equal(t, text, without, "a number is made up: %v", missing)
		}
	}
}

func TestAbout_NamesEachVersionOnce(t *testing.T) {
	peers := []string{
		"tools/record, tools/events (k8s.io/client-go v0.37.2)", "controller-runtime (sigs.k8s.io/controller-runtime v0.25.2)",
		"listers and informers (k8s.io/client-go v0.37.2)", "one regexp (std go1.26.8)",
	}
	assert.Equal(t, "client-go v0.37.2, controller-runtime v0.25.2, Argo Rollouts' own controller; 2026-01-02",
		about(peers, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
}

func TestSaid(t *testing.T) {
	attr := func(test, key, value string) string {
		return `{"Action":"attr","Test":"` + test + `","Key":"` + key + `","Value":"` + value + `"}` + "\n"
	}
	const fewest, highest, end = "least-ready-endpoints", "most-ready-endpoints", "deployment-pods"
	var all string
	for _, w := range ways {
		all += attr(w.test, fewest, "5") + attr(w.test, highest, "6") + attr(w.test, end, "5")
	}
	got, err := said([]byte(`{"Action":"run"}` + "\n" + all + attr(ways[1].test, fewest, "0") + attr(ways[1].test, fewest, "3") + attr(ways[2].test, highest, "9") + attr(ways[2].test, end, "0")))
	require.NoError(t, err)
	var numbers []float64
	for _, f := range got {
		numbers = append(numbers, f.Median)
	}
	assert.Equal(t, []float64{5, 6, 5, 0, 6, 5, 5, 9, 0}, numbers, "fewest and most of each way, there and back, and the last")

	for name, output := range map[string]string{
		"Silent": attr(ways[0].test, fewest, "5"),
		"Half":   strings.Replace(all, highest, "another", 1),
		"NoInt":  all + attr(ways[0].test, fewest, "five"),
	} {
		_, err := said([]byte(output))
		assert.Error(t, err, name)
	}
}

func TestPattern_SelectsTheTests(t *testing.T) {
	for _, w := range ways {
		assert.Regexp(t, pattern(), w.test)
	}
	assert.NotRegexp(t, pattern(), "TestNoPlanLosesAnEndpointTwice")
}
