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
	Templating struct{ List []variable }
	Panels     []panel
}

type variable struct {
	Name, Type, AllValue string
	Query                any
	Refresh              int
	Multi, IncludeAll    bool
	Datasource           *struct{ UID string }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  place
	Datasource               *struct{ UID string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []target
}

type place struct{ X, Y, W, H int }

type target struct {
	RefID, Expr, LegendFormat string
	Datasource                struct{ UID string }
	Exemplar                  bool
}

// findings are the errors of a dashboard or a query.
type findings []string

func (f *findings) note(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// of adds the errors of a part.
func (f *findings) of(part string, wrong findings) {
	for _, w := range wrong {
		f.note("%s: %s", part, w)
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
func faults(body []byte) (wrong findings) {
	var d shown
	if err := json.Unmarshal(body, &d); err != nil {
		return findings{err.Error()}
	}
	if d.UID == "" || len(d.UID) > 40 {
		wrong.note("uid %q", d.UID)
	}
	if d.Editable {
		wrong.note("it can be edited: what a person changes is lost when the sidecar reads it again")
	}
	wrong = append(wrong, variableFaults(d, string(body))...)
	ids := map[int]bool{}
	titles := map[string]bool{}
	for i, p := range d.Panels {
		if p.ID <= 0 || ids[p.ID] {
			wrong.note("%s: id %d", p.Title, p.ID)
		}
		if p.Title == "" || titles[p.Title] {
			wrong.note("panel %d: title %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		titles[p.Title] = true
		wrong.of(p.Title, placeFaults(p.GridPos, d.Panels[:i]))
		if p.Type != "row" {
			wrong.of(p.Title, panelFaults(p))
		}
	}
	return wrong
}

// placeFaults compares a panel's place with the grid and the panels before it.
func placeFaults(g place, before []panel) (wrong findings) {
	if g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
		wrong.note("outside of the grid")
	}
	for _, p := range before {
		o := p.GridPos
		if g.X < o.X+o.W && o.X < g.X+g.W && g.Y < o.Y+o.H && o.Y < g.Y+g.H {
			wrong.note("overlaps %s", p.Title)
		}
	}
	return wrong
}

// panelFaults returns the errors of a panel that draws something.
func panelFaults(p panel) (wrong findings) {
	if p.Description == "" {
		wrong.note("no description")
	}
	if p.Datasource == nil || p.Datasource.UID != "${datasource}" {
		wrong.note("a fixed data source")
	}
	if len(p.Targets) == 0 {
		wrong.note("no query")
	}
	refs := map[string]bool{}
	for _, t := range p.Targets {
		if t.RefID == "" || refs[t.RefID] {
			wrong.note("refId %q", t.RefID)
		}
		refs[t.RefID] = true
		if unit := unitOf(t.Expr); unit != p.FieldConfig.Defaults.Unit {
			wrong.note("unit %q of values in %q", p.FieldConfig.Defaults.Unit, unit)
		}
		wrong = append(wrong, targetFaults(t)...)
	}
	return wrong
}

// targetFaults returns the errors of one query of a panel and its legend.
func targetFaults(t target) (wrong findings) {
	if t.Datasource.UID != "${datasource}" {
		wrong.note("a fixed data source")
	}
	if t.Exemplar != strings.Contains(t.Expr, "histogram_quantile") {
		wrong.note("exemplars are drawn with quantiles, and only there")
	}
	if t.LegendFormat == "" {
		wrong.note("no legend")
	}
	for _, m := range legendLabel.FindAllStringSubmatch(t.LegendFormat, -1) {
		if !slices.Contains(grouping(t.Expr), m[1]) {
			wrong.note("the legend names %q, which the query drops", m[1])
		}
	}
	return append(wrong, queryFaults(t.Expr, "__rate_interval", "__range")...)
}

// variableFaults compares the variables of a dashboard with their uses.
func variableFaults(d shown, body string) (wrong findings) {
	defined := map[string]bool{"__rate_interval": true, "__range": true, "__range_s": true, "__all": true}
	for _, v := range d.Templating.List {
		if defined[v.Name] {
			wrong.note("variable %s is defined twice", v.Name)
		}
		defined[v.Name] = true
		if !regexp.MustCompile(`\$\{?` + v.Name + `\b`).MatchString(strings.ReplaceAll(body, `"name": "`+v.Name, "")) {
			wrong.note("variable %s is never used", v.Name)
		}
		if v.Type == "query" {
			wrong.of("variable "+v.Name, choiceFaults(v))
		}
	}
	for _, m := range variableName.FindAllStringSubmatch(body, -1) {
		if !defined[m[1]] {
			wrong.note("variable %s is not defined", m[1])
		}
	}
	return wrong
}

// choiceFaults returns the errors of a variable that offers the results of a
// query.
func choiceFaults(v variable) (wrong findings) {
	if !v.Multi || !v.IncludeAll || v.AllValue == "" {
		wrong.note("want a choice of several and of all")
	}
	if v.Refresh != 2 {
		wrong.note("want it refreshed with the time range")
	}
	if v.Datasource == nil || v.Datasource.UID != "${datasource}" {
		wrong.note("a fixed data source")
	}
	return append(wrong, queryFaults(fmt.Sprint(v.Query))...)
}

// queryFaults compares the metrics, labels and functions of an expression with
// the catalogue. Windows of five minutes or more belong to the rules; a
// dashboard uses variables.
func queryFaults(expr string, windows ...string) (wrong findings) {
	for _, m := range setOperand.FindAllStringSubmatch(expr, -1) {
		if strings.HasSuffix(m[1], "}") {
			m[1] = "label_values(" + m[1] + ", job)" // whether there are any
		}
		wrong = append(wrong, queryFaults(m[1], windows...)...)
	}
	expr = setOperand.ReplaceAllString(expr, "")
	wrong = append(wrong, increaseFaults(expr, windows)...)
	expr = newSeries.ReplaceAllString(expr, "increase(${8}[${9}])")
	for _, name := range metricName.FindAllString(expr, -1) {
		if _, _, ok := lookup(name); !ok {
			wrong.note("%s is not a metric of the catalogue", name)
		}
	}
	all := selections(expr)
	if len(all) == 0 {
		wrong.note("no selector in %s", expr)
	}
	for _, s := range all {
		wrong = append(wrong, labelFaults(expr, s)...)
		wrong = append(wrong, functionFaults(expr, s)...)
		rated := s.function == "rate" || s.function == "increase"
		if rated && len(windows) > 0 && !slices.Contains(windows, strings.TrimPrefix(s.window, "$")) {
			wrong.note("the window %q", s.window)
		}
	}
	return append(wrong, quantileFaults(expr)...)
}

// selection is a selector of a query with the function around it.
type selection struct{ function, name, matchers, window string }

func selections(expr string) (all []selection) {
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		s := selection{function: m[1], name: m[2], matchers: m[3], window: m[4]}
		if m[5] != "" {
			s = selection{function: m[5], name: m[6], matchers: m[7]}
		}
		all = append(all, s)
	}
	return all
}

// labelFaults compares the labels of a selection with those of its metric.
func labelFaults(expr string, s selection) (wrong findings) {
	i, _, known := lookup(s.name)
	if !known && s.name != "up" && s.name != "" {
		return nil
	}
	allowed := append([]string{"cluster", "namespace", "job", "instance"}, i.Attributes...)
	if s.name == "" {
		allowed = append(allowed, "__name__", "otel_metric_overflow")
	}
	for _, l := range matcherLabel.FindAllStringSubmatch(s.matchers, -1) {
		if !slices.Contains(allowed, l[1]) {
			wrong.note("%s has no label %q", s.name, l[1])
		}
	}
	if !known {
		return wrong
	}
	allowed = append(allowed, "pod", "le")
	for _, l := range grouping(expr) {
		if !slices.Contains(allowed, l) {
			wrong.note("%s is grouped by %q, which it does not have", s.name, l)
		}
	}
	return wrong
}

// functionFaults compares the function of a selection with its metric's kind.
func functionFaults(expr string, s selection) (wrong findings) {
	i, suffix, known := lookup(s.name)
	lasts := i.Name == catalog.Instruments().LabelOverflows.Name // until the process ends
	if !known || lasts {
		return nil
	}
	grows := i.Kind == catalog.Counter || i.Kind == catalog.Histogram
	rated := s.function == "rate" || s.function == "increase"
	if grows != rated && s.function != "label_values" {
		wrong.note("%s of %s, a %s", s.function, s.name, i.Kind)
	}
	fixed := strings.Contains(expr, s.name+"_bucket{") || strings.Contains(expr, s.name+"_count{")
	if i.Kind == catalog.Histogram && suffix == "" && !fixed {
		wrong.note("%s without _bucket, _sum or _count", s.name)
	}
	return wrong
}

// quantileFaults returns the errors of quantiles, of the rates of histograms
// and of ratios.
func quantileFaults(expr string) (wrong findings) {
	quantiles := strings.Count(expr, "histogram_quantile")
	if quantiles > 0 && (!strings.Contains(expr, "_bucket") || !slices.Contains(grouping(expr), "le")) {
		wrong.note("a quantile of something that has no buckets")
	}
	if quantiles%2 > 0 || quantiles > 0 && !nativeToo.MatchString(expr) {
		wrong.note("a quantile of fixed buckets alone, or of native histograms alone")
	}
	if quantiles > 0 && !strings.Contains(expr, ">= 0") {
		wrong.note("a quantile that is NaN while nothing is recorded")
	}
	if strings.Contains(expr, "_count{") && !strings.Contains(expr, "histogram_count(") {
		wrong.note("a rate of fixed buckets alone")
	}
	if strings.Contains(expr, "/") && !strings.Contains(expr, "> 0)") {
		wrong.note("a ratio that can be 0/0")
	}
	return wrong
}

// increaseFaults compares the parts of each increase with what was counted
// before the first scrape.
func increaseFaults(expr string, windows []string) (wrong findings) {
	whole := newSeries.FindAllStringSubmatch(expr, -1)
	if len(whole) != strings.Count(expr, "increase(") {
		wrong.note("an increase without what was counted before the first scrape")
		return wrong
	}
	for _, m := range whole {
		if m[1] != m[3] || m[1] != m[8] || m[2] != m[5] || m[2] != m[6] || m[2] != m[9] {
			wrong.note("new series of one kind and the increase of another: %s", m[0])
		}
		if m[7] != map[string]string{"15m": "900", "$__range": "$__range_s"}[m[2]] {
			wrong.note("a process that started within %s seconds, and a window of %s", m[7], m[2])
		}
		if !slices.Contains(windows, strings.TrimPrefix(m[4], "$")) {
			wrong.note("the window %q", m[4])
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
