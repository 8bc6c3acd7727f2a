// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"time"
)

// losses are the accounts of lost occurrences, by cause.
type losses map[string]*loss

// A loss is the account of one cause. The log gets one line a minute for each.
type loss struct {
	cause           string
	total, unlogged int64
	detail          string
	quiet           time.Time // no line before it
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
}

// unlogged returns what is due for the log, and when more is. The first loss of
// a cause is due immediately, and then one line a minute. Once closed, all is
// due.
func (all losses) unlogged(now time.Time, closed bool) (lines []loss, more time.Time) {
	for _, l := range all {
		switch {
		case l.unlogged == 0:
		case now.Before(l.quiet) && !closed:
			if more.IsZero() || l.quiet.Before(more) {
				more = l.quiet
			}
		default:
			lines = append(lines, *l)
			l.unlogged = 0
			l.quiet = now.Add(time.Minute)
		}
	}
	return lines, more
}
