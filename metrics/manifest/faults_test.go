// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// shown is the part of a dashboard that the rules below are about.
type shown struct {
	UID        string
	Editable   bool
	Templating struct {
		List []struct {
			Name, Type, AllValue string
			Query                any
			Refresh              int
			Multi, IncludeAll    bool
			Datasource           *struct{ UID string }
		}
	}
	Panels []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ X, Y, W, H int }
		Datasource               *struct{ UID string }
		FieldConfig              struct{ Defaults struct{ Unit string } }
		Targets                  []struct {
			RefID, Expr, LegendFormat string
			Datasource                struct{ UID string }
			Exemplar                  bool
		}
	}
}

var (
	legendLabel  = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)
	variableName = regexp.MustCompile(`\$\{?(\w+)`)
	selector     = regexp.MustCompile(`(\w*)\((\w+)?\{([^}]*)\}(?:\[([^\]]*)\])?|(label_values)\((\w+)(?:\{([^}]*)\})?`)
	metricName   = regexp.MustCompile(`\b(?:controller|process|go)_\w+`)
	matcherLabel = regexp.MustCompile(`(\w+)(?:=~|=|!=|!~)"`)
	byClause     = regexp.MustCompile(`by \(([^)]*)\)`)
	setOperand   = regexp.MustCompile(` (?:and|unless) on \([^)]*\) \((\w+\{[^}]*\}|\w+ by \([^)]*\) \(\w+\{[^}]*\}\) == 0)\)`)
	nativeToo    = regexp.MustCompile(`_bucket\{[^}]*\}\[[^]]*\]\)\)\) or histogram_quantile\([0-9.]+, sum by \([^)]*\) \(rate\([a-z_]+_seconds\{`)
	newSeries    = regexp.MustCompile(`\(\(max_over_time\((controller_\w+\{[^}]*\})\[([^\]]+)\]\) unless last_over_time\((controller_\w+\{[^}]*\})\[([^\]]+)\] offset ([^)]+)\)\)` +
		` and on \(cluster, namespace, job, instance\) \(last_over_time\(process_start_time_seconds\{[^}]*\}\[([^\]]+)\]\) > time\(\) - (\S+)\)\) > 0 or increase\((controller_\w+\{[^}]*\})\[([^\]]+)\]\)`)
)

// faults returns the errors of a dashboard, found in its JSON alone. It knows
// the catalogue and not how the dashboard was built.
func faults(body []byte) (wrong []string) {
	var d shown
	if err := json.Unmarshal(body, &d); err != nil {
		return []string{err.Error()}
	}
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if d.UID == "" || len(d.UID) > 40 {
		note("uid %q", d.UID)
	}
	if d.Editable {
		note("it can be edited: what a person changes is lost when the sidecar reads it again")
	}
	wrong = append(wrong, variableFaults(d, string(body))...)
	ids, titles := map[int]bool{}, map[string]bool{}
	for i, p := range d.Panels {
		if p.ID <= 0 || ids[p.ID] {
			note("%s: id %d", p.Title, p.ID)
		}
		if p.Title == "" || titles[p.Title] {
			note("panel %d: title %q", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
			note("%s: outside of the grid", p.Title)
		}
		for _, o := range d.Panels[:i] {
			if g.X < o.GridPos.X+o.GridPos.W && o.GridPos.X < g.X+g.W && g.Y < o.GridPos.Y+o.GridPos.H && o.GridPos.Y < g.Y+g.H {
				note("%s overlaps %s", p.Title, o.Title)
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" {
			note("%s: no description", p.Title)
		}
		if p.Datasource == nil || p.Datasource.UID != "${datasource}" {
			note("%s: a fixed data source", p.Title)
		}
		if len(p.Targets) == 0 {
			note("%s: no query", p.Title)
		}
		refs := map[string]bool{}
		for _, t := range p.Targets {
			if t.RefID == "" || refs[t.RefID] {
				note("%s: refId %q", p.Title, t.RefID)
			}
			refs[t.RefID] = true
			if t.Datasource.UID != "${datasource}" {
				note("%s: a fixed data source", p.Title)
			}
			if unit := unitOf(t.Expr); unit != p.FieldConfig.Defaults.Unit {
				note("%s: unit %q of values in %q", p.Title, p.FieldConfig.Defaults.Unit, unit)
			}
			if t.Exemplar != strings.Contains(t.Expr, "histogram_quantile") {
				note("%s: exemplars are drawn with quantiles, and only there", p.Title)
			}
			if t.LegendFormat == "" {
				note("%s: no legend", p.Title)
			}
			for _, m := range legendLabel.FindAllStringSubmatch(t.LegendFormat, -1) {
				if !slices.Contains(grouping(t.Expr), m[1]) {
					note("%s: the legend names %q, which the query drops", p.Title, m[1])
				}
			}
			for _, w := range queryFaults(t.Expr, "__rate_interval", "__range") {
				note("%s: %s", p.Title, w)
			}
		}
	}
	return wrong
}

func variableFaults(d shown, body string) (wrong []string) {
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	defined := map[string]bool{"__rate_interval": true, "__range": true, "__range_s": true, "__all": true}
	for _, v := range d.Templating.List {
		if defined[v.Name] {
			note("variable %s is defined twice", v.Name)
		}
		defined[v.Name] = true
		if !regexp.MustCompile(`\$\{?` + v.Name + `\b`).MatchString(strings.ReplaceAll(body, `"name": "`+v.Name, "")) {
			note("variable %s is never used", v.Name)
		}
		if v.Type == "query" {
			if v.Refresh != 2 || !v.Multi || !v.IncludeAll || v.AllValue == "" || v.Datasource == nil || v.Datasource.UID != "${datasource}" {
				note("variable %s: want several, all, refreshed with the time range, from the chosen data source", v.Name)
			}
			for _, w := range queryFaults(fmt.Sprint(v.Query)) {
				note("variable %s: %s", v.Name, w)
			}
		}
	}
	for _, m := range variableName.FindAllStringSubmatch(body, -1) {
		if !defined[m[1]] {
			note("variable %s is not defined", m[1])
		}
	}
	return wrong
}

// queryFaults compares the metrics, labels and functions of an expression with
// the catalogue. Windows of five minutes or more belong to the rules; a
// dashboard uses variables.
func queryFaults(expr string, windows ...string) (wrong []string) {
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, m := range setOperand.FindAllStringSubmatch(expr, -1) {
		if strings.HasSuffix(m[1], "}") {
			m[1] = "label_values(" + m[1] + ", job)" // whether there are any
		}
		wrong = append(wrong, queryFaults(m[1], windows...)...)
	}
	expr = setOperand.ReplaceAllString(expr, "")
	wrong = append(wrong, increaseFaults(expr, windows)...)
	expr = newSeries.ReplaceAllString(expr, "increase(${8}[${9}])")
	selectors := selector.FindAllStringSubmatch(expr, -1)
	metrics := metricName.FindAllString(expr, -1)
	if len(selectors) == 0 {
		note("no selector in %s", expr)
	}
	for _, name := range metrics {
		if _, _, ok := lookup(name); !ok {
			note("%s is not a metric of the catalogue", name)
		}
	}
	for _, m := range selectors {
		function, name, matchers, window := m[1], m[2], m[3], m[4]
		if m[5] != "" {
			name, matchers = m[6], m[7]
		}
		i, suffix, known := lookup(name)
		if !known && name != "up" && name != "" {
			continue
		}
		allowed := append([]string{"cluster", "namespace", "job", "instance"}, i.Attributes...)
		if name == "" {
			allowed = append(allowed, "__name__", "otel_metric_overflow")
		}
		for _, l := range matcherLabel.FindAllStringSubmatch(matchers, -1) {
			if !slices.Contains(allowed, l[1]) {
				note("%s has no label %q", name, l[1])
			}
		}
		if known {
			for _, l := range grouping(expr) {
				if !slices.Contains(allowed, l) && l != "pod" && l != "le" {
					note("%s is grouped by %q, which it does not have", name, l)
				}
			}
		}
		grows := i.Kind == catalog.Counter || i.Kind == catalog.Histogram
		rated := function == "rate" || function == "increase"
		state := i.Name == catalog.Instruments().LabelOverflows.Name // it lasts until the process ends
		if known && m[5] == "" && function != "label_values" && grows != rated && !state {
			note("%s of %s, a %s", function, name, i.Kind)
		}
		if i.Kind == catalog.Histogram && suffix == "" && strings.Count(expr, name+"_bucket{")+strings.Count(expr, name+"_count{") == 0 {
			note("%s without _bucket, _sum or _count", name)
		}
		if rated && len(windows) > 0 && !slices.Contains(windows, strings.TrimPrefix(window, "$")) {
			note("the window %q", window)
		}
	}
	if strings.Contains(expr, "histogram_quantile") && (!strings.Contains(expr, "_bucket") || !slices.Contains(grouping(expr), "le")) {
		note("a quantile of something that has no buckets")
	}
	if n := strings.Count(expr, "histogram_quantile"); n%2 > 0 || n > 0 && !nativeToo.MatchString(expr) {
		note("a quantile of fixed buckets alone, or of native histograms alone")
	}
	if strings.Contains(expr, "_count{") && !strings.Contains(expr, "histogram_count(") {
		note("a rate of fixed buckets alone")
	}
	if strings.Contains(expr, "histogram_quantile") && !strings.Contains(expr, ">= 0") {
		note("a quantile that is NaN while nothing is recorded")
	}
	if strings.Contains(expr, "/") && !strings.Contains(expr, "> 0)") {
		note("a ratio that can be 0/0")
	}
	return wrong
}

// increaseFaults compares the parts of each increase with what was counted
// before the first scrape.
func increaseFaults(expr string, windows []string) (wrong []string) {
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	whole := newSeries.FindAllStringSubmatch(expr, -1)
	if len(whole) != strings.Count(expr, "increase(") {
		note("an increase without what was counted before the first scrape")
		return wrong
	}
	for _, m := range whole {
		if m[1] != m[3] || m[1] != m[8] || m[2] != m[5] || m[2] != m[6] || m[2] != m[9] {
			note("new series of one kind and the increase of another: %s", m[0])
		}
		if m[7] != map[string]string{"15m": "900", "$__range": "$__range_s"}[m[2]] {
			note("a process that started within %s seconds, and a window of %s", m[7], m[2])
		}
		if !slices.Contains(windows, strings.TrimPrefix(m[4], "$")) {
			note("the window %q", m[4])
		}
	}
	return wrong
}

// lookup finds the instrument of a metric's name.
func lookup(name string) (i catalog.Instrument, suffix string, ok bool) {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		i, found := byName[strings.TrimSuffix(name, suffix)]
		if found && strings.HasSuffix(name, suffix) && (suffix == "" || i.Kind == catalog.Histogram) {
			return i, suffix, true
		}
	}
	return catalog.Instrument{}, "", false
}

var byName = func() map[string]catalog.Instrument {
	m := map[string]catalog.Instrument{}
	for _, i := range append(catalog.Instruments().All(), // and the metrics of Prometheus' own client
		catalog.Instrument{Name: "process.cpu", Unit: "s", Kind: catalog.Counter},
		catalog.Instrument{Name: "process.start_time", Unit: "s", Kind: catalog.Gauge},
		catalog.Instrument{Name: "process.resident_memory_bytes", Kind: catalog.Gauge},
		catalog.Instrument{Name: "go.goroutines", Kind: catalog.Gauge},
	) {
		m[i.PrometheusName()] = i
	}
	return m
}()

// grouping returns the labels of all by clauses, except the clauses of sets
// that only select values.
func grouping(expr string) (labels []string) {
	for _, m := range byClause.FindAllStringSubmatch(setOperand.ReplaceAllString(expr, ""), -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			labels = append(labels, strings.TrimSpace(l))
		}
	}
	return labels
}

// unitOf is the unit of an expression's values in Grafana's words, read off the
// expression and the instrument's own unit.
func unitOf(expr string) string {
	switch {
	case strings.Contains(expr, "\n/\n"):
		return "percentunit"
	case strings.Contains(expr, "histogram_quantile"):
		return "s"
	case strings.Contains(expr, "process_cpu_seconds_total"), strings.Contains(expr, "changes("):
		return "short" // cores, and a number of times
	case strings.Contains(expr, "_bytes"):
		return "bytes"
	case strings.Contains(expr, "rate("):
		return "ops"
	}
	expr = newSeries.ReplaceAllString(expr, "increase(${8}[${9}])")
	for _, name := range metricName.FindAllString(expr, -1) {
		if i, suffix, _ := lookup(name); i.Unit == "s" && suffix != "_count" {
			return "s"
		}
	}
	return "short"
}
