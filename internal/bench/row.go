// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
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

// Sample has the numbers of one Measure and unit: the library's, and the peers'
// in their order.
type Sample struct {
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
	// Figures are the medians and the spread of the rounds of a counted job:
	// the library's, and the peers' in their order.
	Figures []Figure
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
	limits, err := m.limits()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, s := range samples {
		own := limits[[2]string{s.Unit, ""}]
		if own != "" || len(m.Peers) == 0 {
			row, err := line(m.Name, s.Unit, own, s.under(own), none, 0, 0)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		delete(limits, [2]string{s.Unit, ""})
		for i, p := range m.Peers {
			gate := limits[[2]string{s.Unit, p.Name}]
			row, err := line(m.Name, s.Unit, gate, s.Ours, p.Name, s.Peers[i], s.ratio(i))
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
			delete(limits, [2]string{s.Unit, p.Name})
		}
	}
	for key := range limits {
		return nil, fmt.Errorf("bench: %s: the gate on %s of %q fits no row", m.Name, key[0], key[1])
	}
	return rows, nil
}

// limits returns the limits of the gates by unit and peer.
func (m Measure) limits() (map[[2]string]string, error) {
	limits := map[[2]string]string{}
	for _, g := range m.Gates {
		key := [2]string{g.Unit, g.Peer}
		if limits[key] != "" {
			return nil, fmt.Errorf("bench: %s: two gates on %s of %q", m.Name, g.Unit, g.Peer)
		}
		limits[key] = g.Limit
	}
	return limits, nil
}

// under returns the library's number for a limit. An exact limit applies to the
// highest number of all rounds.
func (s Sample) under(limit string) float64 {
	if strings.HasPrefix(limit, "=") {
		return max(s.Ours, s.Most)
	}
	return s.Ours
}

func line(measure, unit, gate string, ours float64, peer string, theirs, ratio float64) (Row, error) {
	row := Row{
		Measure: measure, Unit: unit, Ours: number(ours),
		Peer: peer, PeerValue: none, Ratio: none, Gate: none, Pass: none,
	}
	if peer != none {
		row.PeerValue = number(theirs)
	}
	if peer != none && theirs != 0 {
		row.Ratio = number(ratio)
	}
	if gate == "" {
		return row, nil
	}
	l, err := parseLimit(gate)
	if err != nil {
		return row, err
	}
	if l.ratio && peer == none {
		return row, errors.New("bench: " + measure + ": a limit of a ratio needs a peer")
	}
	row.Gate, row.Pass = gate, fails
	isSmall := l.isSmall(ours)
	if l.ratio && theirs != 0 {
		ours, theirs = ratio, 1
	}
	if isSmall || l.holds(ours, theirs) {
		row.Pass = passes
	}
	return row, nil
}
