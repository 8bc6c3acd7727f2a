// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"strings"
	"time"
)

// LogValues returns the values for one line of a structured log, as in
// log.Info("Retention", r.LogValues()...). A value that keeps is "keep".
func (r Retention) LogValues() []any {
	return []any{
		"succeeded", orKeep(r.SucceededTTL),
		"failed", orKeep(r.FailedTTL),
		"unrecorded", orKeep(r.UnrecordedTTL),
	}
}

// text shows the values on one line.
func (r Retention) text() string {
	var b strings.Builder
	for i, v := range r.LogValues() {
		switch {
		case i == 0:
		case i%2 == 0:
			b.WriteByte(' ')
		default:
			b.WriteByte('=')
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}

func orKeep(d time.Duration) string {
	if d == 0 {
		return "keep"
	}
	return d.String()
}
