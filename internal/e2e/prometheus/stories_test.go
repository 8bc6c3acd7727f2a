// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"fmt"
	"maps"
	"strings"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// story is a series of values, one a minute, and the alert after a number of
// minutes.
type story struct {
	alert, name string
	series      map[string]string
	after       int
	// fires has the labels of the firing alert without its severity, and value
	// the number in its description, if it has one. None means that no alert
	// fires.
	fires map[string]string
	value string
}

// on returns the name of an instrument's series for one process of the target.
func on(i catalog.Instrument, suffix string, labels ...string) string {
	s := i.PrometheusName() + suffix + `{namespace="agents",job="agentrun",instance="10.0.0.1:8080"`
	for n := 0; n < len(labels); n += 2 {
		s += fmt.Sprintf(",%s=%q", labels[n], labels[n+1])
	}
	return s + "}"
}

// everyOther returns a counter that is scraped every two minutes.
func everyOther(step int) (values string) {
	for n := range 20 {
		values += fmt.Sprintf("%d _ ", n*step)
	}
	return strings.TrimSpace(values)
}

const (
	upSeries = `up{namespace="agents",job="agentrun",instance="10.0.0.1:8080"}`
	upOther  = `up{namespace="agents",job="other",instance="10.0.0.2:8080"}`
	started  = `process_start_time_seconds{namespace="agents",job="agentrun",instance="10.0.0.1:8080"}`
)

func stories() []story {
	i := catalog.Instruments()
	controller := map[string]string{"namespace": "agents", "job": "agentrun", "controller": "runs"}
	with := func(label, value string) map[string]string {
		return map[string]string{"namespace": "agents", "job": "agentrun", label: value}
	}
	target := map[string]string{"namespace": "agents", "job": "agentrun"}
	east := map[string]string{"cluster": "east"}
	reconciles := func(result string) string { return on(i.Reconciles, "", "controller", "runs", "result", result) }
	bucket := func(le string) string {
		return on(i.ReconcileDuration, "_bucket", "controller", "runs", "result", "success", "le", le)
	}
	events := func(f string) string { return on(i.Events, "", "controller", "runs", "result", f) }
	leader := func(instance string) string {
		return fmt.Sprintf(`%s{namespace="agents",job="agentrun",instance=%q,lease="agentrun"}`, i.Leader.PrometheusName(), instance)
	}
	gauge := func(i catalog.Instrument) string { return on(i, "", "controller", "runs") }

	process := map[string]string{"namespace": "agents", "job": "agentrun", "instance": "10.0.0.1:8080"}
	requests := func(code string) string { return on(i.ClientRequests, "", "code", code) }
	startedAt := func(at string) map[string]string { return map[string]string{started: at} }
	// One failure every 1,000 s, the longest back-off, among many successes.
	rare := "0x16 1x16 2x16 3x16 4x16 5x16 6x16 7x16"
	failing := on(i.QueueLongestFailing, "", "controller", "runs")

	return []story{
		{alert: "ControllerMetricsMissing", name: "a page without controllers", series: map[string]string{upSeries: "1x20"}, after: 6, fires: process},
		{
			alert: "ControllerMetricsMissing", name: "one of two", after: 6, fires: process,
			series: map[string]string{
				upSeries: "1x20", strings.Replace(upSeries, "10.0.0.1", "10.0.0.2", 1): "1x20",
				strings.Replace(gauge(i.ReconcileActive), "10.0.0.1", "10.0.0.2", 1): "0x20",
			},
		},
		{alert: "ControllerMetricsMissing", name: "an idle controller", after: 15, series: map[string]string{upSeries: "1x20", gauge(i.ReconcileActive): "0x20"}},
		{alert: "ControllerMetricsMissing", name: "the process is down", after: 15, series: map[string]string{upSeries: "0x20", gauge(i.ReconcileActive): "0x3 stale"}},
		{alert: "ControllerRestarts", name: "a container that crashes", series: map[string]string{started: "1x10 2x10 3x10 4x20"}, after: 40, fires: process, value: "3"},
		{alert: "ControllerRestarts", name: "twice", after: 40, series: map[string]string{started: "1x10 2x10 3x30"}},
		{
			alert: "ControllerObjectFailing", name: "one object at the longest back-off", after: 65, fires: controller, value: "1h 5m 0s",
			series: map[string]string{reconciles("success"): "0+600x140", reconciles("error"): rare, failing: "0+60x140"},
		},
		{alert: "ControllerReconcileErrors", name: "one object at the longest back-off", after: 95, series: map[string]string{reconciles("success"): "0+600x140", reconciles("error"): rare}},
		{alert: "ControllerObjectFailing", name: "it failed twice", after: 95, series: map[string]string{
			reconciles("success"): "0+600x140", reconciles("error"): "0x16 1x16 2x120", failing: "0+60x30 0x110",
		}},
		{alert: "ControllerObjectFailing", name: "another object fails once in each quarter of an hour", after: 140, series: map[string]string{
			reconciles("success"): "0+400x140", reconciles("error"): "0x15 1x15 2x15 3x15 4x15 5x15 6x15 7x15 8x15", failing: "0x140",
		}},
		{alert: "ControllerAPIErrors", name: "2 percent are throttled", series: map[string]string{requests("2xx"): "0+98x40", requests("429"): "0+2x40"}, after: 30, fires: target, value: "2%"},
		{
			alert: "ControllerAPIErrors", name: "each kind of failure counts", after: 30, fires: target, value: "1.5%",
			series: map[string]string{requests("2xx"): "0+197x40", requests("429"): "0+1x40", requests("5xx"): "0+1x40", requests("error"): "0+1x40"},
		},
		{alert: "ControllerAPIErrors", name: "one of 360,000", series: map[string]string{requests("2xx"): "0+6000x60", requests("429"): "0x5 1x55", requests("5xx"): "0x60", requests("error"): "0x60"}, after: 10},
		{alert: "ControllerAPIErrors", name: "all fail for ten minutes", series: map[string]string{requests("2xx"): "0+100x10 1000x10 1000+100x40", requests("error"): "0x10 0+100x10 1000x40"}, after: 30},
		{alert: "ControllerAPIErrors", name: "a new Prometheus scrapes an old process", series: both(startedAt(weeksAgo), map[string]string{requests("5xx"): "_x4 3000x30"}), after: 7},
		{alert: "ControllerAPIErrors", name: "an object that is not there", after: 30, series: map[string]string{
			requests("2xx"): "0+9x40", requests("4xx"): "0+3x40", requests("429"): "0x30", requests("5xx"): "0x30", requests("error"): "0x30",
		}},
		{alert: "ControllerTargetAbsent", name: "the process is down", series: map[string]string{upSeries: "1 0x20"}, after: 7, fires: target},
		{alert: "ControllerTargetAbsent", name: "nothing is scraped at all", series: map[string]string{upOther: "1x20"}, after: 6, fires: target},
		{alert: "ControllerTargetAbsent", name: "one of two is up", after: 15, series: map[string]string{upSeries: "0x20", `up{namespace="agents",job="agentrun",instance="b"}`: "1x20"}},
		{alert: "ControllerTargetAbsent", name: "a restart", after: 15, series: map[string]string{upSeries: "1x10 0x3 1x10"}},
		{
			alert: "ControllerReconcileErrors", name: "a fifth fails", series: map[string]string{reconciles("success"): "0+40x30", reconciles("error"): "0+10x30"},
			after: 20, fires: controller, value: "20%",
		},
		{
			alert: "ControllerReconcileErrors", name: "every kind of failure counts", after: 20, fires: controller, value: "16%",
			series: map[string]string{
				reconciles("success"): "0+84x30", reconciles("error"): "0+4x30", reconciles("terminal_error"): "0+4x30",
				reconciles("timeout"): "0+4x30", reconciles("panic"): "0+4x30",
			},
		},
		{
			alert: "ControllerReconcileErrors", name: "at the longest interval that is accepted", after: 21, fires: controller,
			series: map[string]string{reconciles("success"): everyOther(80), reconciles("error"): everyOther(20)}, value: "20%",
		},
		{alert: "ControllerReconcileErrors", name: "one in twenty fails", after: 20, series: map[string]string{reconciles("success"): "0+95x30", reconciles("error"): "0+5x30"}},
		{alert: "ControllerReconcileErrors", name: "a canceled reconcile is not a failure", after: 20, series: map[string]string{reconciles("success"): "0+50x30", reconciles("canceled"): "0+50x30", reconciles("error"): "0x30"}},
		{alert: "ControllerReconcileErrors", name: "an idle controller", after: 20, series: map[string]string{reconciles("success"): "5x30", reconciles("error"): "5x30"}},
		{
			alert: "ControllerReconcileSlow", name: "a tenth takes a minute", after: 20, fires: controller, value: "57s",
			series: map[string]string{bucket("30"): "0+90x30", bucket("60"): "0+100x30", bucket("+Inf"): "0+100x30"},
		},
		{alert: "ControllerReconcileSlow", name: "all are quick", after: 20, series: map[string]string{bucket("30"): "0+100x30", bucket("60"): "0+100x30", bucket("+Inf"): "0+100x30"}},
		{alert: "ControllerReconcileSlow", name: "an idle controller", after: 20, series: map[string]string{bucket("30"): "5x30", bucket("60"): "9x30", bucket("+Inf"): "9x30"}},
		{alert: "ControllerQueueBacklog", name: "an item waits on and on", series: map[string]string{gauge(i.QueueOldest): "0+60x30"}, after: 12, fires: controller, value: "12m 0s"},
		{
			alert: "ControllerQueueBacklog", name: "an item waits where one leads", after: 12, fires: controller, value: "12m 0s",
			series: map[string]string{
				gauge(i.QueueOldest): "0+60x30", leader("10.0.0.1:8080"): "1x30",
				strings.Replace(gauge(i.QueueOldest), "10.0.0.1", "10.0.0.2", 1): "0+120x30", leader("10.0.0.2:8080"): "0x30",
			},
		},
		{
			alert: "ControllerQueueBacklog", name: "another lease has a leader", after: 12, fires: controller, value: "12m 0s",
			series: map[string]string{
				gauge(i.QueueOldest): "0+60x30", leader("10.0.0.1:8080"): "0x30",
				strings.Replace(leader("10.0.0.1:8080"), `lease="agentrun"`, `lease="other"`, 1): "1x30",
			},
		},
		{alert: "ControllerQueueBacklog", name: "a standby keeps its queue warm", after: 20, series: map[string]string{
			gauge(i.QueueOldest): "0x30", leader("10.0.0.1:8080"): "1x30",
			strings.Replace(gauge(i.QueueOldest), "10.0.0.1", "10.0.0.2", 1): "0+60x30", leader("10.0.0.2:8080"): "0x30",
		}},
		{alert: "ControllerQueueBacklog", name: "a full queue that is worked off", after: 20, series: map[string]string{gauge(i.QueueOldest): "290x30", gauge(i.QueueDepth): "9999x30"}},
		{alert: "ControllerWorkerStuck", name: "a worker hangs", series: map[string]string{gauge(i.QueueLongest): "0+60x30"}, after: 16, fires: controller, value: "16m 0s"},
		{alert: "ControllerWorkerStuck", name: "a slow reconcile", after: 14, series: map[string]string{gauge(i.QueueLongest): "0+60x14"}},
		{
			alert: "ControllerCacheStale", name: "a watch hangs", after: 16, value: "16m 0s",
			fires:  both(process, map[string]string{"resource": "jobs"}),
			series: map[string]string{on(i.CacheAge, "", "resource", "jobs"): "0+60x30", on(i.CacheAge, "", "resource", "pods"): "50x30"},
		},
		{alert: "ControllerCacheStale", name: "etcd notifies each ten minutes", after: 30, series: map[string]string{
			on(i.CacheAge, "", "resource", "jobs"): "0+60x11 0+60x11 0+60x11",
		}},
		{alert: "ControllerNoLeader", name: "all stand by", series: map[string]string{leader("a"): "1x5 0x30", leader("b"): "0x35"}, after: 12, fires: with("lease", "agentrun")},
		{alert: "ControllerNoLeader", name: "the lead is handed over", after: 20, series: map[string]string{leader("a"): "1x5 0x30", leader("b"): "0x8 1x30"}},
		{alert: "ControllerNoLeader", name: "without leader election", after: 20, series: map[string]string{upSeries: "1x30"}},
		{alert: "ControllerTwoLeaders", name: "both lead", series: map[string]string{leader("a"): "1x30", leader("b"): "0x5 1x30"}, after: 12, fires: with("lease", "agentrun"), value: "2"},
		{alert: "ControllerTwoLeaders", name: "one leads, one stands by", after: 20, series: map[string]string{leader("a"): "1x30", leader("b"): "0x30"}},
		{alert: "ControllerTwoLeaders", name: "an overlap of a scrape", after: 20, series: map[string]string{leader("a"): "1x10 0x20", leader("b"): "0x9 1x20"}},
		{alert: "ControllerEventsDropped", name: "the first loss", series: map[string]string{events("dropped"): "0x10 3x20"}, after: 12, fires: controller, value: "3"},
		{alert: "ControllerEventsDropped", name: "before the first scrape", series: both(startedAt("200x100"), map[string]string{events("dropped"): "_x4 7x100"}), after: 18, fires: controller, value: "7"},
		{alert: "ControllerEventsDropped", name: "a new Prometheus scrapes an old process", series: both(startedAt(weeksAgo), map[string]string{events("dropped"): "_x4 7000x30"}), after: 7},
		{
			alert: "ControllerEventsDropped", name: "a new Prometheus sees a loss", after: 12, fires: controller, value: "2.125",
			series: both(startedAt(weeksAgo), map[string]string{events("dropped"): "_x4 7000x4 7002x30"}),
		},
		{
			alert: "ControllerEventsDropped", name: "the labels of the targets change", after: 22,
			series: both(
				both(startedAt("-2000000x19 stale"), map[string]string{events("dropped"): "7000x19 stale"}),
				inCluster("west", both(startedAt("_x20 -2000000x30"), map[string]string{events("dropped"): "_x20 7000x30"}))),
		},
		{
			alert: "ControllerEventsDropped", name: "the labels of the samples alone change", after: 22,
			series: both(startedAt(weeksAgo), both(
				map[string]string{events("dropped"): "7000x19 stale"},
				map[string]string{strings.Replace(events("dropped"), "}", `,team="a"}`, 1): "_x20 7000x30"})),
		},
		{alert: "ControllerEventsDropped", name: "written and aggregated", after: 20, series: map[string]string{events("dropped"): "7x30", events("emitted"): "0+5x30", events("aggregated"): "0+500x30"}},
		{alert: "ControllerJobsMissing", name: "the first one", series: map[string]string{gauge(i.MissingJobs): "0x10 1x20"}, after: 12, fires: controller, value: "1"},
		{alert: "ControllerJobsMissing", name: "before the first scrape", series: both(startedAt("200x100"), map[string]string{gauge(i.MissingJobs): "_x4 7x100"}), after: 6, fires: controller, value: "7"},
		{alert: "ControllerJobsMissing", name: "a new Prometheus scrapes an old process", series: both(startedAt(weeksAgo), map[string]string{gauge(i.MissingJobs): "_x4 700x30"}), after: 7},
		{
			alert: "ControllerJobsMissing", name: "before the first scrape of a second process, and one in the first", after: 14, fires: controller, value: "4.071",
			series: map[string]string{
				gauge(i.MissingJobs): "5x9 6x50", strings.Replace(gauge(i.MissingJobs), "10.0.0.1", "10.0.0.2", 1): "_x10 3x50",
				strings.Replace(gauge(i.MissingJobs), "10.0.0.1", "10.0.0.3", 1): "_x10 0x50",
				started: weeksAgo, strings.Replace(started, "10.0.0.1", "10.0.0.2", 1): "_x10 590x50", strings.Replace(started, "10.0.0.1", "10.0.0.3", 1): "_x10 590x50",
			},
		},
		{alert: "ControllerJobsMissing", name: "then a restart", after: 14, fires: controller, series: both(startedAt("_x4 200x5 560x20"), map[string]string{gauge(i.MissingJobs): "_x4 7x5 0x20"}), value: "7"},
		{alert: "ControllerJobsMissing", name: "of a process that is gone", after: 17, fires: controller, series: both(startedAt("_x4 200x2 stale"), map[string]string{gauge(i.MissingJobs): "_x4 7x2 stale"}), value: "7"},
		{alert: "ControllerJobsMissing", name: "before the first scrape, long ago", after: 40, series: both(startedAt("200x100"), map[string]string{gauge(i.MissingJobs): "_x4 7x100"})},
		{alert: "ControllerJobsMissing", name: "before a time without scrapes", after: 50, series: both(startedAt("-60x20 _x20 -60x100"), map[string]string{gauge(i.MissingJobs): "7x20 _x20 7x100"})},
		{alert: "ControllerJobsMissing", name: "one long ago", after: 29, series: map[string]string{gauge(i.MissingJobs): "0x5 1x30"}},
		{
			alert: "ControllerLabelOverflow", name: "too many controllers, all named at the start", series: map[string]string{on(i.LabelOverflows, "", "label", "controller"): "_x4 20x60"},
			after: 50, fires: with("label", "controller"),
		},
		{
			alert: "ControllerLabelOverflow", name: "a resource too many, later", series: map[string]string{on(i.LabelOverflows, "", "label", "resource"): "0x10 1x20"},
			after: 11, fires: with("label", "resource"),
		},
		{alert: "ControllerLabelOverflow", name: "a process that is gone", after: 20, series: map[string]string{on(i.LabelOverflows, "", "label", "controller"): "20x5 stale"}},
		{alert: "ControllerLabelOverflow", name: "none", after: 20, series: map[string]string{on(i.LabelOverflows, "", "label", "controller"): "0x30"}},
		{
			alert: "ControllerSeriesOverflow", name: "the bound is met", series: map[string]string{on(i.Reconciles, "", "otel_metric_overflow", "true"): "0+1x20", on(i.Runs, "", "otel_metric_overflow", "true"): "0+1x20"},
			after: 5, fires: target, value: "2",
		},
		{alert: "ControllerSeriesOverflow", name: "whole series", after: 20, series: map[string]string{reconciles("success"): "0+1x30"}},

		// Two clusters in one Prometheus, with the same names and addresses.
		{alert: "ControllerTwoLeaders", name: "one leader in each of two clusters", after: 20, series: both(
			inCluster("east", map[string]string{leader("a"): "1x30", leader("b"): "0x30"}),
			inCluster("west", map[string]string{leader("a"): "1x30", leader("b"): "0x30"}))},
		{
			alert: "ControllerTwoLeaders", name: "two leaders in one of two clusters", after: 12, fires: both(with("lease", "agentrun"), east), value: "2",
			series: both(
				inCluster("east", map[string]string{leader("a"): "1x30", leader("b"): "1x30"}),
				inCluster("west", map[string]string{leader("a"): "1x30"})),
		},
		{
			alert: "ControllerNoLeader", name: "one of two clusters has none", after: 12, fires: both(with("lease", "agentrun"), east),
			series: both(
				inCluster("east", map[string]string{leader("a"): "0x30", leader("b"): "0x30"}),
				inCluster("west", map[string]string{leader("a"): "1x30", leader("b"): "0x30"})),
		},
		{
			alert: "ControllerTargetAbsent", name: "one of two clusters is down", after: 12, fires: both(target, east),
			series: both(inCluster("east", map[string]string{upSeries: "1x5 0x30"}), inCluster("west", map[string]string{upSeries: "1x35"})),
		},
		{
			alert: "ControllerTargetAbsent", name: "one of two clusters has lost its targets", after: 600, fires: both(target, east),
			series: both(inCluster("east", map[string]string{upSeries: "1x5 stale"}), inCluster("west", map[string]string{upSeries: "1x700"})),
		},
		{
			alert: "ControllerTargetAbsent", name: "a cluster was removed two days ago", after: 2880,
			series: both(inCluster("east", map[string]string{upSeries: "1x5 stale"}), inCluster("west", map[string]string{upSeries: "1x2900"})),
		},
		{
			alert: "ControllerTargetAbsent", name: "a process moved in a cluster", after: 20,
			series: inCluster("east", map[string]string{upSeries: "1x5 stale", strings.Replace(upSeries, "10.0.0.1", "10.0.0.2", 1): "_x5 1x30"}),
		},
		{
			alert: "ControllerMetricsMissing", name: "in one of two clusters", after: 6, fires: both(process, east),
			series: both(
				inCluster("east", map[string]string{upSeries: "1x20"}),
				inCluster("west", map[string]string{upSeries: "1x20", gauge(i.ReconcileActive): "0x20"})),
		},
		{
			alert: "ControllerReconcileErrors", name: "all fail in the smaller of two clusters", after: 20, fires: both(controller, east), value: "100%",
			series: both(
				inCluster("east", map[string]string{reconciles("success"): "0x30", reconciles("error"): "0+10x30"}),
				inCluster("west", map[string]string{reconciles("success"): "0+1000x30", reconciles("error"): "0x30"})),
		},
		{
			alert: "ControllerQueueBacklog", name: "the address is a standby's in another cluster", after: 12, fires: both(controller, east), value: "12m 0s",
			series: both(
				inCluster("east", map[string]string{gauge(i.QueueOldest): "0+60x30", leader("10.0.0.1:8080"): "1x30"}),
				inCluster("west", map[string]string{gauge(i.QueueOldest): "0x30", leader("10.0.0.1:8080"): "0x30"})),
		},
		{
			alert: "ControllerEventsDropped", name: "an old process has the address of a new one in another cluster", after: 7,
			series: both(
				inCluster("east", both(startedAt("200x30"), map[string]string{events("dropped"): "_x4 0x30"})),
				inCluster("west", both(startedAt(weeksAgo), map[string]string{events("dropped"): "_x4 7000x30"}))),
		},
		{
			alert: "ControllerSeriesOverflow", name: "in one of two clusters", after: 5, fires: both(target, east), value: "1",
			series: both(
				inCluster("east", map[string]string{on(i.Reconciles, "", "otel_metric_overflow", "true"): "0+1x20"}),
				inCluster("west", map[string]string{reconciles("success"): "0+1x20"})),
		},
	}
}

// both returns the entries of a and b.
func both(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// weeksAgo is the start of a process in each sample, which the test's clock
// begins long after.
const weeksAgo = "-2000000x120"

// inCluster adds the label cluster to all series.
func inCluster(name string, series map[string]string) map[string]string {
	all := map[string]string{}
	for s, values := range series {
		all[strings.Replace(s, "}", fmt.Sprintf(",cluster=%q}", name), 1)] = values
	}
	return all
}
