// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest renders the Grafana dashboard, the alerts and the scrape
// configuration that fit package metrics.
//
// Dashboards break without an error. A metric is renamed, a label is removed, a
// unit changes, and panels are empty. Here every query is built from a row of
// metrics/catalog, the table that also defines the instruments. A query of a
// removed instrument does not compile. A query by a label that the instrument
// does not have is an error of [New].
//
//	bundle, err := manifest.New(manifest.Target{
//		Name:   "agentrun",
//		Labels: map[string]string{"release": "prometheus"},
//	})
//	if err != nil {
//		return err
//	}
//	os.WriteFile("rule.yaml", bundle.PrometheusRule(), 0o644)
//
// # What there is
//
// [Bundle.Dashboard] is for Grafana's import and [Bundle.DashboardConfigMap]
// for its sidecar. [Bundle.ServiceMonitor] and [Bundle.PrometheusRule] are for
// Prometheus Operator, and [Bundle.Rules] for a Prometheus without it. [Table]
// is for documents. Every alert has a severity, a summary and a link to a
// runbook with its meaning, impact, diagnosis and mitigation. Equal targets
// give equal bytes. The text fits into a Helm template unchanged: nothing in it
// opens an action.
//
// # Rules
//
// [Bundle.Queries] lists the expressions of panels and alerts, so that a test
// can send them to a Prometheus. Each expression returns finite values while
// the controller uses its part. A panel without its call stays empty:
//
//	queue            kube.NewQueue; without the delayed, the oldest and the failing items kube.QueueProvider
//	workers          Controller.SetWorkers
//	runs, retention  Controller.Runs, Runs.Retention
//	events           Controller.Events
//	status commits   Controller.StatusWrites
//	API requests     kube.Transport, kube.Limiter
//	leader           kube.Callbacks or kube.NewLeaderRunnable
//	objects          Metrics.ObserveConditions
//	caches           kube.NewCache
//	process          metrics/prom
//
// Quantiles and rates of histograms have two forms in one expression: for fixed
// buckets, and for native histograms, including fixed buckets that Prometheus
// converts (convert_classic_histograms_to_nhcb). ControllerReconcileSlow never
// fires if a view gives controller.reconcile.duration only bounds below its
// threshold, 30 s.
//
// Several clusters may share a Prometheus. The alerts and panels keep the
// labels Target.KeepLabels, by default cluster: each cluster has its own
// leader, its own targets and its own alerts. The dashboard has a variable for
// each. The panels also keep the labels namespace and job, so that two
// installations, or two shards, are not added up. A process that does not lead
// adds nothing to the items in the queue. A cluster whose targets have all
// vanished fires ControllerTargetAbsent for a day.
//
// An alert for occurrences, such as lost events, includes what a process
// counted before its first scrape only if the process started in the alert's
// window, by process_start_time_seconds. So the counts of weeks do not fire it
// in a new Prometheus, or after a label has changed.
//
// The dashboard takes its data source from a variable. It takes the kept
// labels, namespace, job, instance and controller from the labels in
// Prometheus. The alerts select by
// the label job, which the ServiceMonitor sets. If you write your own scrape
// configuration, name its job Target.Job and, if Target.Namespace is set, give
// it the label namespace.
//
// Target.Edit changes the severity, the labels, the threshold and the duration
// of each alert, or leaves it out:
//
//	manifest.Target{Name: "agentrun", Edit: func(r *manifest.Rule) {
//		r.Labels = map[string]string{"team": "agents"}
//		if r.Name == "ControllerReconcileSlow" {
//			r.Threshold = 120 // seconds
//		}
//	}}
//
// The package imports the standard library, sigs.k8s.io/yaml and the catalogue,
// reads and writes nothing, and needs no RBAC.
//
// # When not to use it
//
// The catalogue is closed. For your own metrics, add panels to a copy of the
// dashboard, or add a second dashboard.
package manifest
