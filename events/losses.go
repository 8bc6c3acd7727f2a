// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "cmp"

// losses are the accounts of lost occurrences, by cause.
type losses map[string]*loss

// A loss is the account of one cause.
type loss struct {
	cause           string
	total, unlogged int64
	detail          string
}

// lose counts n occurrences as lost; detail says what to fix and never holds a
// note, and "" means what was said last about the same cause.
func (e *engine) lose(cause string, n int64, detail string) {
	if n == 0 {
		return
	}
	l := e.losses[cause]
	if l == nil {
		l = &loss{cause: cause}
		e.losses[cause] = l
	}
	l.total += n
	l.unlogged += n
	l.detail = cmp.Or(detail, l.detail)
	e.lost += n
	e.changed.Broadcast()
}

// takeUnlogged returns what no line of the log has reported.
func (all losses) takeUnlogged() (lines []loss) {
	for _, l := range all {
		if l.unlogged > 0 {
			lines = append(lines, *l)
			l.unlogged = 0
		}
	}
	return lines
}
