// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/bench"
)

// measured has all figures: 2 for the library, 4 for the careful controller and
// 1000 for the others.
func measured() comparison {
	c := comparison{runs: 300, rounds: 3, about: []string{"the peers", "the machine"}}
	add := func(measure, unit string, subjects ...string) {
		for _, s := range subjects {
			v := map[string]float64{ours: 2, careful: 4}[s]
			if v == 0 {
				v = 1000
			}
			c.figures = append(c.figures, bench.Figure{Measure: measure, Unit: unit, Subject: s, Median: v, Least: v, Most: v})
		}
	}
	for _, l := range loads {
		for _, col := range append(append([]column{}, losses...), costs...) {
			add("300 runs"+l.name+": "+col.measure, col.unit, ours, careful, usual)
		}
	}
	for _, t := range tables(300) {
		for _, r := range t.rows {
			for _, peer := range []string{ours, r.peers[0], r.peers[1]} {
				if peer != "" {
					add(r.measure, r.unit, peer)
				}
			}
		}
	}
	return c
}

func TestText_HasARowForEachController(t *testing.T) {
	text, err := measured().text()
	require.NoError(t, err)
	for _, row := range []string{
		`nothing fails +usual +1000 +1000 +1000`, ` +careful +4 +4 +4`, ` +controllerkit +2 +2 +2`,
		`nothing fails +usual +1000\.00 +1000\.00 +1000\.00 +1000`, ` +controllerkit / careful +0\.50x +0\.50x +0\.50x +0\.50x`,
		`a Deployment of 5: fewest ready pods +1000 +1000 +2`,
	} {
		assert.Regexp(t, `(?m)^`+row+`$`, text)
	}
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len(line), 120, line)
	}
}

func TestText_DoesNotMakeUpWhatWasNotMeasured(t *testing.T) {
	c := measured()
	for i, missing := range c.figures {
		less := c
		less.figures = append(append([]bench.Figure{}, c.figures[:i]...), c.figures[i+1:]...)
		_, err := less.text()
		assert.ErrorContains(t, err, missing.Measure)
	}
}

func TestCell(t *testing.T) {
	tests := map[string]struct {
		reason string
		figure bench.Figure
		digits int
		want   string
	}{
		"Spread": {"The rounds differ.", bench.Figure{Median: 16, Least: 3, Most: 85}, 0, "16 (3-85)"},
		"Same":   {"They do not.", bench.Figure{Median: 2, Least: 2, Most: 2}, 1, "2.0"},
		"Less":   {"They do not as they are printed.", bench.Figure{Median: 2.001, Least: 2, Most: 2.004}, 2, "2.00"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, cell(tc.figure, tc.digits), tc.reason) })
	}
}

func TestDecode_ReadsWhatEncodeWrites(t *testing.T) {
	c := measured()
	c.figures[0].Subject, c.figures[0].Least, c.figures[0].Median = "", 0.25, 1.5
	got, err := decode(c.encode())
	require.NoError(t, err)
	c.figures[0].Subject = ours
	assert.Equal(t, c, got)

	for name, bad := range map[string]string{
		"Empty":   "",
		"NoSizes": columns + "\n",
		"Short":   "# 1 runs, 1 rounds\n" + columns + "\na\tb\n",
		"NotANum": "# 1 runs, 1 rounds\n" + columns + "\na\tb\tc\t1\t1\tmany\n",
	} {
		_, err := decode(bad)
		assert.Error(t, err, name)
	}
}

// TestPicture_ShowsTheFigures: it is well-formed, has a bar of each controller,
// its number and a style for dark pages.
func TestPicture_ShowsTheFigures(t *testing.T) {
	svg, err := measured().picture()
	require.NoError(t, err)
	texts, d := map[string]int{}, xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok {
			texts[string(text)]++
		}
	}
	shown := 0
	for _, l := range loads {
		if l.short != "" {
			shown++
			assert.Equal(t, 1, texts[l.short], l.short)
		}
	}
	assert.Equal(t, 4, shown)
	assert.Equal(t, []int{4, 4, 4}, []int{texts["1000"], texts["4"], texts["2"]}, "results lost")
	assert.Equal(t, []int{4, 4, 4}, []int{texts["250.00"], texts["1.00"], texts["0.50"]}, "costs")
	for _, of := range controllers {
		assert.Equal(t, 1, texts[of.name], "in the legend")
	}
	stroke := regexp.MustCompile(`\[style\*="(stroke:[^"]+)"\]`).FindStringSubmatch(svg)
	require.NotNil(t, stroke)
	assert.Contains(t, svg, stroke[1]+";", "the lines that are brightened on a dark page")
}

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
	c, err := decode(string(data))
	require.NoError(t, err)
	text, err := c.text()
	require.NoError(t, err)
	picture, err := c.picture()
	require.NoError(t, err)
	for name, want := range map[string]string{textFile: text, pictureFile: picture} {
		got, err := os.ReadFile(filepath.Join(at, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "run make compare DRAW=1")
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
	test, part, _ := strings.Cut(pattern(), "/")
	for _, w := range ways {
		name, sub, found := strings.Cut(w.test, "/")
		assert.Regexp(t, test, name)
		if found {
			assert.Regexp(t, part, sub)
		}
	}
	assert.NotRegexp(t, part, "Reference")
}
