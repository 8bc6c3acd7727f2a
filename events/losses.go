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
	returned        int64 // of total, what Start or a Flush has returned
	detail          string
	quiet           instant // no line before it
}

// lose counts n occurrences as lost; detail says what to fix and never holds a
// note, and "" means what was said last about the same cause.
func (b *book) lose(cause string, n int64, detail string) {
	if n == 0 {
		return
	}
	l := b.losses[cause]
	if l == nil {
		l = &loss{cause: cause}
		b.losses[cause] = l
	}
	l.total += n
	l.unlogged += n
	l.detail = cmp.Or(detail, l.detail)
	if l.unlogged == n {
		b.isChanged = true
	}
}

// claim returns a [LostError] about the losses that neither Start nor a Flush
// has returned yet; nil when there are none.
func (all losses) claim() error {
	e := &LostError{Lost: make(map[string]int64), details: make(map[string]string)}
	for cause, l := range all {
		n := l.total - l.returned
		if n > 0 {
			e.Lost[cause] = n
			e.details[cause] = l.detail
			l.returned = l.total
		}
	}
	if len(e.Lost) == 0 {
		return nil
	}
	return e
}

// unlogged returns what is due for the log, and when more is. The first loss of
// a cause is due immediately, and then one line a minute. Once closed, all is
// due.
func (all losses) unlogged(now instant, closed bool) (lines []loss, more instant) {
	more = never
	for _, l := range all {
		switch {
		case l.unlogged == 0:
		case now < l.quiet && !closed:
			more = min(more, l.quiet)
		default:
			lines = append(lines, *l)
			l.unlogged = 0
			l.quiet = now.add(time.Minute)
		}
	}
	return lines, more
}
