// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// The variables of the dashboard, and the variables that Grafana defines.
const (
	varDatasource = "datasource"
	varNamespace  = "namespace"
	varJob        = "job"
	varInstance   = "instance"
	varController = "controller"

	rateInterval = "$__rate_interval"
	wholeRange   = "$__range"
	wholeSeconds = "$__range_s"
)

// The units of Grafana in which an expression's values can be.
const (
	unitSeconds   = "s"
	unitPerSecond = "ops"
	unitRatio     = "percentunit"
	unitCount     = "short"
	unitBytes     = "bytes"
)

// expr is a PromQL expression, and what a panel or an alert must know of its
// values.
type expr struct {
	text     string
	unit     string
	by       []string // the labels of the values, without the labels that all values keep
	exemplar bool     // drawn from a histogram, whose buckets lead to traces
}

// where is a matcher of one label against a closed set of values.
type where struct {
	label  string
	values []string
}

func (w where) String() string {
	if len(w.values) == 1 {
		return w.label + "=" + strconv.Quote(w.values[0])
	}
	return w.label + "=~" + strconv.Quote(strings.Join(w.values, "|"))
}

// queries builds expressions from rows of the catalogue only. A removed row
// does not compile. A label that the row does not have and a function that does
// not fit its kind are kept in errs, which [New] returns.
type queries struct {
	target []string // matchers of the target's own labels
	// keep is the labels of the target that all values keep: KeepLabels, and
	// more on the dashboard.
	keep       []string
	controller string   // matcher of the controller
	wide       []string // instruments of the whole process, which have no controller
	errs       []error
}

// onDashboard selects by the variables of the dashboard. All values keep the
// namespace and the job, because the variables may select several
// installations.
func onDashboard(t Target, i catalog.Table) *queries {
	wide := []string{
		i.Objects.Name,
		i.Leader.Name,
		i.CacheAge.Name,
		i.ClientRequests.Name,
		i.ClientRequestDuration.Name,
		i.ClientLimiterWait.Name,
		i.LabelOverflows.Name,
	}
	for _, p := range ofProcess().all() {
		wide = append(wide, p.Name)
	}
	q := &queries{
		keep:       append(slices.Clone(t.KeepLabels), varNamespace, varJob),
		controller: variable(varController),
		wide:       wide,
	}
	for _, name := range append(slices.Clone(t.KeepLabels), varNamespace, varJob, varInstance) {
		q.target = append(q.target, variable(name))
	}
	return q
}

func variable(name string) string { return fmt.Sprintf(`%s=~"$%s"`, name, name) }

// inRules selects one job, in one namespace if there is one.
func inRules(t Target) *queries {
	q := &queries{
		target: []string{where{varJob, []string{t.Job}}.String()},
		keep:   t.KeepLabels,
	}
	if t.Namespace != "" {
		q.target = append(q.target, where{varNamespace, []string{t.Namespace}}.String())
	}
	return q
}

// targetLabels come from Prometheus' configuration, so every series has them.
func targetLabels() []string { return []string{varNamespace, varJob, varInstance, "pod"} }

// reservedLabels have a meaning in the queries and alerts, so that no target
// may use them to tell installations apart.
func reservedLabels() []string {
	all := append(targetLabels(),
		varDatasource, "le", "severity", "alertname", "otel_metric_overflow")
	for _, i := range catalog.Instruments().All() {
		all = append(all, i.Attributes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// process are the labels of one process, which its job and address identify.
func (q *queries) process() []string { return []string{varNamespace, varJob, varInstance} }

// sum adds up states over processes.
func (q *queries) sum(i catalog.Instrument, by []string, only ...where) expr {
	return q.state("sum", i, by, only)
}

// highest is the greatest of the processes' states: the one for ages and
// settings.
func (q *queries) highest(i catalog.Instrument, by []string) expr {
	return q.state("max", i, by, nil)
}

// waiting is the age of the oldest ready item of the processes that may lead.
func (q *queries) waiting(i catalog.Table, by []string) expr {
	return q.working("max", i.QueueOldest, i.Leader, by)
}

// ready adds up states over the processes that may lead.
func (q *queries) ready(i, leader catalog.Instrument, by []string) expr {
	return q.working("sum", i, leader, by)
}

// working aggregates the states of the processes that may lead. A process that
// does not lead by any of its leases does not count, because it may keep its
// queue warm until it leads. A process without a lease counts.
func (q *queries) working(function string, i, leader catalog.Instrument, by []string) expr {
	e := q.state(function, i, by, nil)
	leads := q.highest(leader, q.process()).text
	e.text = fmt.Sprintf("%s%s (%s unless%s (%s == 0))",
		function, q.group(by), q.series(i, "", nil), q.on(q.process()), leads)
	return e
}

func (q *queries) state(function string, i catalog.Instrument, by []string, only []where) expr {
	q.check(i, by, only, catalog.UpDownCounter, catalog.Gauge)
	unit := unitCount
	switch {
	case i.Unit == "s":
		unit = unitSeconds
	case strings.HasSuffix(i.Name, "_bytes"):
		unit = unitBytes
	}
	text := fmt.Sprintf("%s%s (%s)", function, q.group(by), q.series(i, "", only))
	return expr{text: text, unit: unit, by: by}
}

// rate is the number of occurrences per second. For a histogram it is the
// number of recorded values per second.
func (q *queries) rate(i catalog.Instrument, window string, by []string, only ...where) expr {
	q.check(i, by, only, catalog.Counter, catalog.Histogram)
	e := expr{unit: unitPerSecond, by: by}
	if i.Kind == catalog.Counter {
		e.text = fmt.Sprintf("sum%s (rate(%s[%s]))", q.group(by), q.series(i, "", only), window)
		return e
	}
	classic := fmt.Sprintf("sum%s (rate(%s[%s]))", q.group(by), q.series(i, "_count", only), window)
	native := fmt.Sprintf("sum%s (histogram_count(rate(%s[%s])))",
		q.group(by), q.series(i, "", only), window)
	e.text = classic + " or " + native
	return e
}

// increase is the number of occurrences in the window. A series that did not
// exist before the window counts whole, at its highest, if its process started
// in the window, because increase() does not see counts before the first
// scrape. The series of an older process is new only to Prometheus, and its
// counts may be weeks old. A series that was missing for less than known is not
// new.
func (q *queries) increase(
	i catalog.Instrument,
	window period,
	known string,
	by []string,
	only ...where,
) expr {
	q.check(i, by, only, catalog.Counter)
	s := q.series(i, "", only)
	w := window.text
	started := q.series(ofProcess().started, "", nil)
	whole := fmt.Sprintf("max_over_time(%s[%s]) unless last_over_time(%s[%s] offset %s)",
		s, w, s, known, w)
	young := fmt.Sprintf("last_over_time(%s[%s]) > time() - %s", started, w, window.seconds)
	text := fmt.Sprintf("sum%s (((%s) and%s (%s)) > 0 or increase(%s[%s]))",
		q.group(by), whole, q.on(q.process()), young, s, w)
	return expr{text: text, unit: unitCount, by: by}
}

// period is a range of time as PromQL writes it after a selector, and as a
// number of seconds.
type period struct{ text, seconds string }

// total is the value of a counter that shows a state which lasts until the
// process ends.
func (q *queries) total(i catalog.Instrument, by []string) expr {
	q.check(i, by, nil, catalog.Counter)
	text := fmt.Sprintf("sum%s (%s)", q.group(by), q.series(i, "", nil))
	return expr{text: text, unit: unitCount, by: by}
}

// quantile is a quantile of a histogram. A Prometheus stores a histogram with
// fixed buckets, as series with the suffix _bucket, or as a native one, without
// a suffix. If nothing was recorded in the window, the value is NaN. The
// comparison leaves it out, because no alert or panel can use it.
func (q *queries) quantile(phi float64, i catalog.Instrument, window string, by []string) expr {
	q.check(i, by, nil, catalog.Histogram)
	classic := fmt.Sprintf("histogram_quantile(%v, sum%s (rate(%s[%s])))",
		phi, q.group(append(slices.Clone(by), "le")), q.series(i, "_bucket", nil), window)
	native := fmt.Sprintf("histogram_quantile(%v, sum%s (rate(%s[%s])))",
		phi, q.group(by), q.series(i, "", nil), window)
	text := "(" + classic + " or " + native + ") >= 0"
	return expr{text: text, unit: unitSeconds, by: by, exemplar: true}
}

// ratio is a share. It has no value when the denominator is zero, because 0/0
// is NaN.
func (q *queries) ratio(part, all expr) expr {
	if !slices.Equal(part.by, all.by) || part.unit != all.unit {
		q.errs = append(q.errs, fmt.Errorf("a ratio of %s by %q and %s by %q",
			part.unit, part.by, all.unit, all.by))
	}
	text := fmt.Sprintf("%s\n/\n(%s > 0)", part.text, all.text)
	return expr{text: text, unit: unitRatio, by: part.by}
}

// busiest is the highest of many values.
func (q *queries) busiest(of expr) expr {
	return expr{text: "max" + q.group(nil) + " (\n" + of.text + "\n)", unit: of.unit}
}

// up counts the processes of the job that Prometheus can scrape. It is 0, not
// empty, for a cluster that had a target within known, and if there is none.
func (q *queries) up(known string) expr {
	up := fmt.Sprintf("up{%s}", strings.Join(q.target, ","))
	return expr{
		text: fmt.Sprintf("sum%s (%s) or 0 * count%s (last_over_time(%s[%s])) or on () vector(0)",
			q.group(nil), up, q.group(nil), up, known),
		unit: unitCount,
	}
}

// upOf counts the jobs that have series of i, because a dashboard may select
// every job in Prometheus.
func (q *queries) upOf(i catalog.Instrument) expr {
	q.check(i, nil, nil, catalog.Counter)
	up := fmt.Sprintf("up{%s}", strings.Join(q.target, ","))
	job := []string{varNamespace, varJob}
	text := fmt.Sprintf("sum%s (%s and%s (%s)) or on () vector(0)",
		q.group(nil), up, q.on(job), q.series(i, "", nil))
	return expr{text: text, unit: unitCount}
}

// seriesOfTargets counts the series of i in each process that Prometheus can
// scrape. It is 0, not empty, for a process without one.
func (q *queries) seriesOfTargets(i catalog.Instrument) expr {
	q.check(i, nil, nil, catalog.UpDownCounter)
	process := q.group(q.process())
	up := fmt.Sprintf("sum%s (up{%s} == 1)", process, strings.Join(q.target, ","))
	return expr{
		text: fmt.Sprintf("(count%s (%s) or 0 * %s) >= 0", process, q.series(i, "", nil), up),
		unit: unitCount, by: q.process(),
	}
}

// overflow counts the series that have lost their labels to the SDK's limit. It
// is normally 0.
func (q *queries) overflow() expr {
	series := fmt.Sprintf(`{__name__=~"controller_.+",%s,otel_metric_overflow="true"}`,
		strings.Join(q.target, ","))
	text := fmt.Sprintf("count%s (%s) or on () vector(0)", q.group(nil), series)
	return expr{text: text, unit: unitCount}
}

func (q *queries) series(i catalog.Instrument, suffix string, only []where) string {
	matchers := slices.Clone(q.target)
	if q.perController(i) {
		matchers = append(matchers, q.controller)
	}
	for _, w := range only {
		matchers = append(matchers, w.String())
	}
	return fmt.Sprintf("%s%s{%s}", i.PrometheusName(), suffix, strings.Join(matchers, ","))
}

// perController reports whether the variable of the controller selects the
// instrument.
func (q *queries) perController(i catalog.Instrument) bool {
	return q.controller != "" && !slices.Contains(q.wide, i.Name)
}

// group is the clause of an aggregation by labels and by the labels that all
// values keep.
func (q *queries) group(by []string) string { return " by (" + q.kept(by) + ")" }

// on is the clause of a set that compares labels and the labels that all values
// keep.
func (q *queries) on(labels []string) string { return " on (" + q.kept(labels) + ")" }

func (q *queries) kept(labels []string) string {
	all := slices.Clone(q.keep)
	for _, label := range labels {
		if !slices.Contains(all, label) {
			all = append(all, label)
		}
	}
	return strings.Join(all, ", ")
}

// check notes the errors of a query of i.
func (q *queries) check(i catalog.Instrument, by []string, only []where, kinds ...catalog.Kind) {
	wrong := func(format string, args ...any) {
		q.errs = append(q.errs, fmt.Errorf("%s: %w", i.Name, fmt.Errorf(format, args...)))
	}
	if i.Name == "" {
		wrong("an instrument without a name")
	}
	if !slices.Contains(kinds, i.Kind) {
		wrong("a %s, where the query is one of %v", i.Kind, kinds)
	}
	if q.perController(i) && !slices.Contains(i.Attributes, varController) {
		wrong("selected by %q; it has %q", varController, i.Attributes)
	}
	for _, label := range by {
		if !slices.Contains(i.Attributes, label) && !slices.Contains(targetLabels(), label) {
			wrong("grouped by %q; it has %q, the target %q", label, i.Attributes, targetLabels())
		}
	}
	for _, w := range only {
		if !slices.Contains(i.Attributes, w.label) {
			wrong("selected by %q; it has %q", w.label, i.Attributes)
		}
	}
}

// err joins the errors of all queries that were built.
func (q *queries) err() error { return errors.Join(q.errs...) }
