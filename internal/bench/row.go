// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"math"
	"regexp"
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

// Sample has the numbers of one unit of a Measure: the library's, and the
// peers' in their order.
type Sample struct {
	Name  string // of the row
	Unit  string
	Ours  float64
	Peers []float64
	// Ratios are the medians of the ratios of each round of a timed measure.
	// They are better than the ratio of the two medians, because the speed of
	// the machine changes between rounds. Nil means Ours/Peers.
	Ratios []float64
	// Most is the library's highest number of all rounds. A gate with "=" is
	// held against it, because a median hides a result that was lost once.
	Most float64
	// Limit of a Count.
	Limit string
}

// Figure is one number of one subject, over all rounds.
type Figure struct {
	Measure, Unit       string
	Subject             string // a peer, or "ours"
	Median, Least, Most float64
}

// ratio returns the ratio to a peer, or 0 if there is none.
func (s Sample) ratio(peer int) float64 {
	switch {
	case s.Ratios != nil:
		return s.Ratios[peer]
	case s.Peers[peer] != 0:
		return s.Ours / s.Peers[peer]
	}
	return 0
}

// rows returns the rows of the measure: one for each unit and peer. There is
// one for the library's number if there is no peer, or a gate on that number. A
// gate without a row is an error.
func (m Measure) rows(samples []Sample) ([]Row, error) {
	gates := map[[2]string]string{}
	for _, g := range m.Gates {
		gates[[2]string{g.Unit, g.Peer}] = g.Limit
	}
	taken := func(unit, peer string) string {
		key := [2]string{unit, peer}
		defer delete(gates, key)
		return gates[key]
	}
	var rows []Row
	var errs []error
	add := func(row Row, err error) {
		rows = append(rows, row)
		errs = append(errs, err)
	}
	for _, s := range samples {
		own := s.Limit + taken(s.Unit, "")
		row := Row{
			Measure: s.Name, Unit: s.Unit, Ours: number(s.Ours),
			Peer: none, PeerValue: none, Ratio: none, Gate: none, Pass: none,
		}
		if own != "" || len(m.Peers) == 0 {
			ours := s.under(own)
			alone := row
			alone.Ours = number(ours)
			add(alone.gated(own, ours, 0, 0))
		}
		for i, p := range m.Peers {
			row.Peer, row.PeerValue, row.Ratio = p.Name, number(s.Peers[i]), none
			if s.Peers[i] != 0 {
				row.Ratio = number(s.ratio(i))
			}
			add(row.gated(taken(s.Unit, p.Name), s.Ours, s.Peers[i], s.ratio(i)))
		}
	}
	if len(gates) > 0 {
		errs = append(errs, fmt.Errorf("bench: %s: gates that fit no row: %v", m.Name, gates))
	}
	return rows, errors.Join(errs...)
}

// under returns the library's number for a limit. An exact limit applies to the
// highest number of all rounds.
func (s Sample) under(limit string) float64 {
	if strings.HasPrefix(limit, "=") {
		return max(s.Ours, s.Most)
	}
	return s.Ours
}

// gated returns the row with the verdict of a limit, which may be empty.
func (r Row) gated(limit string, ours, theirs, ratio float64) (Row, error) {
	if limit == "" {
		return r, nil
	}
	l, err := parseLimit(limit)
	r.Gate, r.Pass = limit, fails
	if l.holds(ours, theirs, ratio) {
		r.Pass = passes
	}
	return r, err
}

// limit is the parsed limit of a gate: "<= 20", "= 0", "<= 0.2x" or "<= 2x or
// 50000".
type limit struct {
	equal bool // otherwise at most
	ratio bool // of the ratio, otherwise of the library's number
	bound float64
	small float64 // an own number up to this one is within the limit too
}

var limitForm = regexp.MustCompile(`^(<=|=) ([\d.]+)(x?)(?: or (\d+))?$`)

func parseLimit(s string) (limit, error) {
	parts := limitForm.FindStringSubmatch(s)
	if parts == nil {
		return limit{}, fmt.Errorf("bench: limit %q is not as in <= 20, = 0, <= 2x or <= 2x or 50000", s)
	}
	bound, err := strconv.ParseFloat(parts[2], 64)
	small, _ := strconv.ParseFloat(parts[4], 64) // 0 if there is none
	return limit{equal: parts[1] == "=", ratio: parts[3] != "", bound: bound, small: small}, err
}

// holds reports whether the library's number is within the limit. A ratio to 0
// passes if the library's number is 0 too.
func (l limit) holds(ours, theirs, ratio float64) bool {
	switch {
	case l.small > 0 && ours <= l.small:
		return true
	case l.equal:
		return ours == l.bound
	case !l.ratio:
		return ours <= l.bound
	case theirs == 0:
		return ours == 0
	}
	return ratio <= l.bound
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
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
