// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// none is the cell for a missing peer, ratio, gate or verdict.
const none = "-"

// The verdicts of a row with a gate.
const (
	passes = "pass"
	fails  = "FAIL"
)

// Row is one line of the table: the library's number, alone or with the number
// of one peer.
type Row struct {
	Measure, Unit, Ours, Peer, PeerValue, Ratio, Gate, Pass string
}

// failed returns an error for each row whose gate fails.
func failed(rows []Row) (err error) {
	for _, r := range rows {
		if r.Pass == fails {
			err = errors.Join(err, fmt.Errorf("gate: %s: %s is %s, of %s %s: %s; wanted %s",
				r.Measure, r.Unit, r.Ours, r.Peer, r.PeerValue, r.Ratio, r.Gate))
		}
	}
	return err
}

// Figure is one number of one subject, over all rounds.
type Figure struct {
	Measure, Unit       string
	Subject             string // a peer, or "ours"
	Median, Least, Most float64
	Total               float64 // of all rounds
}

// figures returns a figure of each subject for each unit.
func (m Measure) figures(all []numbers) (out []Figure) {
	for _, n := range all {
		for i, s := range m.subjects() {
			out = append(out, Figure{
				Measure: m.Name + n.What, Unit: n.Unit, Subject: cmp.Or(s.Name, "ours"),
				Median: median(n.of[i]), Least: slices.Min(n.of[i]), Most: slices.Max(n.of[i]),
				Total: sum(n.of[i]),
			})
		}
	}
	return out
}

// rows returns the rows of the measure: one for each unit and peer. There is
// one for the library's number without a peer, or a gate on that number. A
// gate without a row is an error.
func (m Measure) rows(all []numbers) (rows []Row, err error) {
	gates := map[[2]string]string{}
	for _, g := range m.Gates {
		gates[[2]string{g.Unit, g.Peer}] = g.Limit
	}
	taken := func(unit, peer string) string {
		key := [2]string{unit, peer}
		defer delete(gates, key)
		return gates[key]
	}
	add := func(row Row, wrong error) {
		rows = append(rows, row)
		err = errors.Join(err, wrong)
	}
	for _, n := range all {
		ours := median(n.of[0])
		row := Row{
			Measure: m.Name + n.What, Unit: n.Unit, Ours: number(ours),
			Peer: none, PeerValue: none, Ratio: none, Gate: none, Pass: none,
		}
		own := n.Limit + taken(n.Unit, "")
		if own != "" || len(m.Peers) == 0 {
			alone := row
			limited := n.under(own)
			alone.Ours = number(limited)
			add(alone.gated(own, limited, 0))
		}
		for i, p := range m.Peers {
			theirs := median(n.of[i+1])
			ratio := n.ratio(i + 1)
			row.Peer, row.PeerValue, row.Ratio = p.Name, number(theirs), none
			if theirs != 0 {
				row.Ratio = number(ratio)
			}
			add(row.gated(taken(n.Unit, p.Name), ours, ratio))
		}
	}
	if len(gates) > 0 {
		err = errors.Join(err, fmt.Errorf("bench: %s: gates that fit no row: %v", m.Name, gates))
	}
	return rows, err
}

// ratio returns the ratio of the medians. Of a time it is the median of the
// ratios of each round, because the speed of the machine changes between
// rounds. A ratio to zero is infinite, and a ratio of zero is zero.
func (n numbers) ratio(peer int) float64 {
	ours, theirs := median(n.of[0]), median(n.of[peer])
	switch {
	case ours == 0:
		return 0
	case n.Unit != Nanos:
		return ours / theirs
	}
	var ratios []float64
	for round, v := range n.of[0] {
		ratios = append(ratios, v/n.of[peer][round])
	}
	return median(ratios)
}

// under returns the library's number for a limit. An exact limit applies to the
// highest number of all rounds, because a median hides a result that was lost
// once.
func (n numbers) under(limit string) float64 {
	if strings.HasPrefix(limit, "=") {
		return slices.Max(n.of[0])
	}
	return median(n.of[0])
}

// gated returns the row with the verdict of a limit, which may be empty.
func (r Row) gated(limit string, ours, ratio float64) (Row, error) {
	if limit == "" {
		return r, nil
	}
	ok, err := holds(limit, ours, ratio)
	r.Gate, r.Pass = limit, fails
	if ok {
		r.Pass = passes
	}
	return r, err
}

// holds reports whether the library's number and its ratio are within a limit:
// "<= 20", "= 0", "<= 0.2x", or "<= 2x or 50000".
func holds(limit string, ours, ratio float64) (bool, error) {
	limit, small, isEnough := strings.Cut(limit, " or ")
	if isEnough {
		ok, err := holds("<= "+small, ours, ratio)
		if ok || err != nil {
			return ok, err
		}
	}
	relation, text, _ := strings.Cut(limit, " ")
	text, isRatio := strings.CutSuffix(text, "x")
	bound, err := strconv.ParseFloat(text, 64)
	value := ours
	if isRatio {
		value = ratio
	}
	switch relation {
	case "=":
		return value == bound, err
	case "<=":
		return value <= bound, err
	}
	return false, fmt.Errorf("bench: limit %q is not as in <= 20, = 0, <= 2x or <= 2x or 50000", limit)
}

// number formats v for people: a whole number from 100 on, otherwise three
// digits.
func number(v float64) string {
	if math.Abs(v) >= 100 || v == math.Trunc(v) {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// median returns the median of the values, which must not be empty. Of an even
// number of values it is the mean of the two in the middle.
func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
