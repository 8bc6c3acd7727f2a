// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest renders the Grafana dashboard, the alerts and the scrape configuration that fit package metrics.
//
// Dashboards break in silence: a metric is renamed, a label goes, a unit changes, and panels are empty with nothing to tell. Here
// every query is built from a row of metrics/catalog, the table from which the instruments themselves are made. A query of an
// instrument that is gone does not compile; one by a label that the instrument does not have is an error of [New].
//
//	pack, err := manifest.New(manifest.Target{Name: "agentrun", Labels: map[string]string{"release": "prometheus"}})
//	if err != nil {
//		return err
//	}
//	os.WriteFile("rule.yaml", pack.PrometheusRule(), 0o644)
//
// # What there is
//
// [Pack.Dashboard] for Grafana's import, [Pack.DashboardConfigMap] for its sidecar, [Pack.ServiceMonitor] and
// [Pack.PrometheusRule] for Prometheus Operator, [Pack.Rules] for a Prometheus without it, [Table] for documents. Every alert has a
// severity, a summary and a link to a runbook with its meaning, impact, diagnosis and mitigation. Equal targets give equal bytes.
// The text can stand in a Helm template as it is: nothing in it opens an action.
//
// # Rules
//
// [Pack.Queries] lists every expression, so that a test can ask a real Prometheus: all answer with values, and finite ones,
// while the controller uses their part: panels of the queue need kube.NewQueue, of workers SetWorkers, of API requests
// kube.Transport and kube.Limiter, of the leader kube.Callbacks, of objects ObserveConditions, of status writes StatusWrite, of
// runs Run, of the settings Retention. What is not used stays empty. Quantiles need fixed buckets: with
// prom.Options.NativeHistograms their panels are empty and ControllerReconcileSlow never fires, nor does it where
// metrics.Options.Buckets ends below Thresholds.Slow. The dashboard takes its data source from a variable, and
// namespace, job, instance and controller from what Prometheus has. The alerts select by the label job, which the ServiceMonitor
// sets; with a scrape configuration of your own, name its job Target.Job and, if Target.Namespace is set, give it the label
// namespace. The package imports the standard library and the catalogue, reads and writes nothing, and needs no RBAC.
//
// # When not to use it
//
// For metrics of your own: the catalogue is closed. Add panels to a copy, or a dashboard beside this one.
package manifest
