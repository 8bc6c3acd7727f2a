// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// limit is the parsed limit of a gate.
type limit struct {
	equal bool // otherwise at most
	ratio bool // of the ratio, otherwise of the library's number
	bound float64
	small float64 // an own number up to this one is within the limit too
}

// parseLimit reads "<= 20", "= 0", "<= 0.2x" or "<= 2x or 50000".
func parseLimit(s string) (limit, error) {
	first, second, hasSecond := strings.Cut(s, " or ")
	l, err := parseOne(first)
	if err != nil || !hasSecond {
		return l, err
	}
	l.small, err = strconv.ParseFloat(second, 64)
	if err != nil {
		return limit{}, fmt.Errorf("bench: limit %q: %w", s, err)
	}
	return l, nil
}

func parseOne(s string) (limit, error) {
	op, number, ok := strings.Cut(s, " ")
	if !ok || (op != "<=" && op != "=") {
		const want = `want "<=" or "=", a space and a number, with an x at its end for a ratio`
		return limit{}, fmt.Errorf("bench: limit %q: %s", s, want)
	}
	number, ratio := strings.CutSuffix(number, "x")
	bound, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return limit{}, fmt.Errorf("bench: limit %q: %w", s, err)
	}
	return limit{equal: op == "=", ratio: ratio, bound: bound}, nil
}

// isSmall reports whether the library's number is so small that the peer's
// number does not matter.
func (l limit) isSmall(ours float64) bool {
	return l.small > 0 && ours <= l.small
}

// holds reports whether the library's number is within the limit. A ratio is
// compared as a product, so that 0 passes if the peer's number is 0.
func (l limit) holds(ours, peer float64) bool {
	bound := l.bound
	if l.ratio {
		bound *= peer
	}
	if l.equal {
		return ours == bound
	}
	return ours <= bound
}
