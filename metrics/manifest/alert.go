// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// The windows of the rules. A rate over five minutes bridges a missed scrape. A
// single occurrence fires for a quarter of an hour, so that a person sees it.
// Counters that were not scraped for less than an hour are not new. A cluster
// whose targets have all vanished is expected back for a day.
const (
	ruleWindow     = "5m"
	knownWindow    = "1h"
	expectedWindow = "1d"
)

func occurrenceWindow() period { return period{"15m", "900"} }

// A few restarts are normal.
const (
	restartWindow = "1h"
	restarts      = 2
)

// Some requests may fail. Most clusters have an alert for API clients with this
// share of failed requests and this time.
const (
	failedRequests    = 0.01
	failedRequestsFor = 15 * time.Minute
)

// objectFailing is how long an item may fail. It is retried after at most
// 1,000 s, by the default of client-go and of controller-runtime.
const objectFailing = time.Hour

// How long a state must last before an alert of it fires, and the thresholds of
// the states.
const (
	lasts      = 5 * time.Minute
	errorRatio = 0.1
	slow       = 30 * time.Second
	waiting    = 5 * time.Minute
	stuck      = 15 * time.Minute
	stale      = 15 * time.Minute
)

// Severities, by the expected reaction: critical wakes a person, warning is for
// working hours.
const (
	critical = "critical"
	warning  = "warning"
)

// reconcileSlow is the alert whose threshold is below the last bound of a
// histogram.
const reconcileSlow = "ControllerReconcileSlow"

// Alert is one alert of the rules.
type Alert struct {
	// Name is the name of the alert and of its runbook.
	Name string
	// Severity is "critical" if objects are not reconciled, or if two processes
	// reconcile them. Otherwise it is "warning".
	Severity string
	// Labels are more labels of the alert, in addition to the labels of Expr.
	Labels map[string]string
	// Summary and Description are Go templates of Prometheus.
	Summary, Description string
	// RunbookURL is the link to the runbook of the alert.
	RunbookURL string
	// Expr has a value for each failing thing, and none while there is no
	// problem.
	Expr string
	// For is how long Expr must have a value before the alert fires.
	For time.Duration
}

// alert is an alert before rendering: value compared with a threshold.
type alert struct {
	name, severity       string
	summary, description string
	value                expr
	is                   string // the comparison
	threshold            float64
	wait                 time.Duration
	labels               map[string]string // in addition to the severity and the value's labels
}

func (a alert) expr() string {
	value := a.value.text
	binary := []string{" vector(0)", "\n/\n", " >= 0"}
	isBinary := func(part string) bool { return strings.Contains(value, part) }
	if slices.ContainsFunc(binary, isBinary) {
		value = "(" + value + ")"
	}
	return value + " " + a.is + " " + number(a.threshold)
}

// Alerts lists the alerts of the rules, in a fixed order.
func (b *Bundle) Alerts() []Alert {
	var out []Alert
	for _, a := range b.alerts {
		out = append(out, Alert{
			Name:        a.name,
			Severity:    a.severity,
			Labels:      maps.Clone(a.labels),
			Summary:     a.summary,
			Description: a.description,
			RunbookURL:  b.target.runbook(a.name),
			Expr:        a.expr(),
			For:         a.wait,
		})
	}
	return out
}

// rules builds the alerts.
func rules(t Target, i catalog.Table) ([]alert, error) {
	q := inRules(t)
	of := func(labels ...string) []string {
		return append([]string{varNamespace, varJob}, labels...)
	}
	failed := where{"result", failedResults()}
	dropped := where{"result", []string{resultDropped}}
	failedCodes := where{"code", []string{"429", "5xx", "error"}}

	alerts := []alert{
		{
			name:      "ControllerTargetAbsent",
			severity:  critical,
			wait:      lasts,
			value:     q.up(expectedWindow),
			is:        "<",
			threshold: 1,
			labels:    absentLabels(t),
			summary:   "No process of " + t.Job + " answers Prometheus.",
			description: "No target of the job " + t.Job + " is up. Nothing may be reconciled, " +
				"and no other alert of this group can fire.",
		},
		{
			name: "ControllerMetricsMissing", severity: warning, wait: lasts, is: "<", threshold: 1,
			value:   q.seriesOfTargets(i.ReconcileActive),
			summary: "A process of {{ $labels.job }} has no metrics of a controller.",
			description: "{{ $labels.instance }} of {{ $labels.job }} in {{ $labels.namespace " +
				"}} answers Prometheus, but without a series of a controller. None of the " +
				"other alerts can see it.",
		},
		{
			name: "ControllerRestarts", severity: warning, is: ">", threshold: restarts,
			value:   q.restarts(restartWindow, of(varInstance)),
			summary: "A process of {{ $labels.job }} begins again and again.",
			description: "{{ $labels.instance }} of {{ $labels.job }} in {{ $labels.namespace " +
				"}} began again {{ $value }} times in an hour.",
		},
		{
			name:      "ControllerReconcileErrors",
			severity:  warning,
			wait:      lasts,
			is:        ">",
			threshold: errorRatio,
			value: q.ratio(
				q.rate(i.Reconciles, ruleWindow, of(varController), failed),
				q.rate(i.Reconciles, ruleWindow, of(varController))),
			summary: "Reconciles of {{ $labels.controller }} fail.",
			description: "{{ $value | humanizePercentage }} of the reconciles of {{ " +
				"$labels.controller }} in {{ $labels.namespace }} ended with an error, a " +
				"timeout or a panic.",
		},
		{
			name:      "ControllerObjectFailing",
			severity:  warning,
			is:        ">",
			threshold: objectFailing.Seconds(),
			value:     q.highest(i.QueueLongestFailing, of(varController)),
			summary:   "An object of {{ $labels.controller }} fails again and again.",
			description: "Each reconcile of an object of {{ $labels.controller }} in {{ " +
				"$labels.namespace }} has failed for {{ $value | humanizeDuration }}. The " +
				"share of failures may be too small for ControllerReconcileErrors.",
		},
		{
			name: reconcileSlow, severity: warning, wait: lasts, is: ">", threshold: slow.Seconds(),
			value:   q.quantile(0.99, i.ReconcileDuration, ruleWindow, of(varController)),
			summary: "Reconciles of {{ $labels.controller }} are slow.",
			description: "One reconcile in a hundred of {{ $labels.controller }} in {{ " +
				"$labels.namespace }} takes longer than {{ $value | humanizeDuration }}.",
		},
		{
			name:      "ControllerQueueBacklog",
			severity:  warning,
			wait:      lasts,
			is:        ">",
			threshold: waiting.Seconds(),
			value:     q.waiting(i, of(varController)),
			summary:   "The queue of {{ $labels.controller }} does not get empty.",
			description: "An item has been ready for {{ $value | humanizeDuration }} and no " +
				"worker of {{ $labels.controller }} in {{ $labels.namespace }} has taken it.",
		},
		{
			name: "ControllerCacheStale", severity: warning, is: ">", threshold: stale.Seconds(),
			value:   q.highest(i.CacheAge, of(varInstance, "resource")),
			summary: "The cache of {{ $labels.resource }} gets no changes.",
			description: "{{ $labels.instance }} of {{ $labels.job }} in {{ $labels.namespace " +
				"}} has got nothing about {{ $labels.resource }} from the API server for {{ " +
				"$value | humanizeDuration }}, not even a bookmark. It reconciles what the " +
				"objects were then.",
		},
		{
			name: "ControllerWorkerStuck", severity: warning, is: ">", threshold: stuck.Seconds(),
			value:   q.highest(i.QueueLongest, of(varController)),
			summary: "A worker of {{ $labels.controller }} is stuck.",
			description: "A worker of {{ $labels.controller }} in {{ $labels.namespace }} has " +
				"held one item for {{ $value | humanizeDuration }}.",
		},
		{
			name: "ControllerNoLeader", severity: critical, wait: lasts, is: "<", threshold: 1,
			value:   q.sum(i.Leader, of("lease")),
			summary: "No process that Prometheus sees holds the lease {{ $labels.lease }}.",
			description: "Of the processes of {{ $labels.job }} in {{ $labels.namespace }} " +
				"that Prometheus can scrape, none holds the lease {{ $labels.lease }}. If it " +
				"can scrape all of them, nothing is reconciled.",
		},
		{
			name: "ControllerTwoLeaders", severity: critical, wait: lasts, is: ">", threshold: 1,
			value:   q.sum(i.Leader, of("lease")),
			summary: "Several processes hold the lease {{ $labels.lease }}.",
			description: "{{ $value }} processes of {{ $labels.job }} in {{ $labels.namespace " +
				"}} believe they lead by the lease {{ $labels.lease }}: they reconcile the " +
				"same objects.",
		},
		{
			name:      "ControllerAPIErrors",
			severity:  warning,
			wait:      failedRequestsFor,
			is:        ">",
			threshold: failedRequests,
			value: q.ratio(
				q.rate(i.ClientRequests, ruleWindow, of(), failedCodes),
				q.rate(i.ClientRequests, ruleWindow, of())),
			summary: "API requests of {{ $labels.job }} fail.",
			description: "{{ $value | humanizePercentage }} of the API requests of {{ " +
				"$labels.job }} in {{ $labels.namespace }} were throttled (429), failed in the " +
				"API server (5xx) or got no response (error).",
		},
		{
			name: "ControllerEventsDropped", severity: warning, is: ">",
			value:   q.increase(i.Events, occurrenceWindow(), knownWindow, of(varController), dropped),
			summary: "Events of {{ $labels.controller }} are lost.",
			description: "Events of {{ $labels.controller }} in {{ $labels.namespace }} were " +
				"dropped, about {{ $value | humanize }} in a quarter of an hour: some events " +
				"are missing in kubectl describe.",
		},
		{
			name: "ControllerJobsMissing", severity: warning, is: ">",
			value:   q.increase(i.MissingJobs, occurrenceWindow(), knownWindow, of(varController)),
			summary: "Jobs of {{ $labels.controller }} vanished.",
			description: "Jobs of {{ $labels.controller }} in {{ $labels.namespace }} were " +
				"gone before their result was read, about {{ $value | humanize }} in a quarter " +
				"of an hour.",
		},
		{
			name: "ControllerLabelOverflow", severity: warning, is: ">",
			value:   q.total(i.LabelOverflows, of("label")),
			summary: "The label {{ $labels.label }} has too many values.",
			description: "Values of the label {{ $labels.label }} of {{ $labels.job }} in {{ " +
				"$labels.namespace }} are folded into \"other\" or left out: dashboards and " +
				"alerts no longer tell them apart.",
		},
		{
			name: "ControllerSeriesOverflow", severity: warning, is: ">", labels: absentLabels(t),
			value:   q.overflow(),
			summary: "Metrics of " + t.Job + " lose their labels.",
			description: "{{ $value }} series of " + t.Job + " met the bound of " +
				"OpenTelemetry's SDK and carry otel_metric_overflow instead of their labels.",
		},
	}
	return alerts, q.err()
}

// absentLabels replaces the labels of the value where it has none.
func absentLabels(t Target) map[string]string {
	labels := map[string]string{varJob: t.Job}
	if t.Namespace != "" {
		labels[varNamespace] = t.Namespace
	}
	return labels
}

// failedResults are the values of the label result that count as errors: the
// metrics.Result values for which Failed is true.
func failedResults() []string { return []string{"panic", "error", "terminal_error", "timeout"} }

// resultDropped is the value of the label result for an event that was lost.
const resultDropped = "dropped"

func number(f float64) string { return fmt.Sprintf("%v", f) }
