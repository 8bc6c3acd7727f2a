// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"regexp"
	"strings"
	"time"
)

// Query is one PromQL expression of a panel or an alert. A test can send it to
// a Prometheus.
type Query struct {
	// Source is where it is shown: "panel Reconciles by result" or "alert
	// ControllerNoLeader".
	Source string
	// Expr is the expression of a panel as rendered, or the value that an alert
	// compares, without the comparison. While the controller uses the
	// part that it needs (see the package comment), every Expr has values, and
	// all of them are finite.
	Expr string
}

// Instant is Expr as an instant query. The variables of the dashboard select
// everything, and its rates look back over the window, truncated to whole
// milliseconds. Alerts keep their windows.
func (q Query) Instant(window time.Duration) string {
	w := promDuration(max(time.Millisecond, window.Truncate(time.Millisecond)))
	seconds := number(max(time.Millisecond, window.Truncate(time.Millisecond)).Seconds())
	pairs := []string{rateInterval, w, wholeSeconds, seconds, wholeRange, w}
	for _, v := range variables(nil) {
		pairs = append(pairs, "$"+v.name, v.all)
	}
	expr := strings.NewReplacer(pairs...).Replace(q.Expr)
	return regexp.MustCompile(`"\$\w+"`).ReplaceAllString(expr, `".*"`) // of Target.KeepLabels
}

// Queries lists the expressions of all panels and alerts, in a fixed order. It
// does not list the recording rules of Target.OldNames.
func (b *Bundle) Queries() []Query {
	var out []Query
	for _, row := range b.rows {
		for _, panel := range row.panels {
			for _, t := range panel.targets {
				out = append(out, Query{"panel " + panel.title, t.expr.text})
			}
		}
	}
	for _, a := range b.alerts {
		out = append(out, Query{"alert " + a.name, a.value.text})
	}
	return out
}
