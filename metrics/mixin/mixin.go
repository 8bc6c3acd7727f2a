// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mixin has the alerts for Prometheus and the dashboard for Grafana
// that fit package metrics, as the files alerts.yaml and dashboard.json.
//
//	rules, err := mixin.Alerts("agentrun", "agents", "v0.1.0")
//	if err != nil {
//		return err
//	}
//	err = os.WriteFile("rules.yaml", rules, 0o644)
//
// The files can also be copied and edited: to change a threshold, change it in
// the copy. Nothing else reads them.
//
// # Rules
//
// Each alert has a severity, a summary, a description and a link to its
// runbook. It keeps the labels cluster and scope, which may be absent: a
// Prometheus of several clusters adds cluster as an external label, and
// metrics.Metrics.Scope adds scope. Add a label of another name to the by
// clauses of a copy.
//
// A panel or an alert has values while the controller uses its part:
//
//	reconciles, failing objects   Controller.Begin
//	queue                         kube.QueueProvider
//	workers                       Controller.SetWorkers
//	runs, retention               Controller.Runs
//	events                        Controller.Events
//	status commits                Controller.StatusWrites
//	API requests                  kube.Transport
//	leader                        kube.Callbacks, kube.NewLeaderRunnable
//	objects                       Metrics.ObserveConditions
//	caches                        kube.NewCache
//	process                       package prom
//
// Quantiles have two forms in one expression: for fixed buckets and for native
// histograms. Prometheus can convert fixed buckets to native histograms, with
// the same result. VictoriaMetrics has each function of the expressions.
//
// An age begins again with each process. ControllerObjectFailing therefore
// counts minutes over all processes. A process in a crash loop is present for a
// while after each start. ControllerTargetAbsent and ControllerNoLeader
// therefore look at shares of ten minutes, and of half an hour. No alert reads
// the clock of a node.
//
// # When not to use it
//
// For your own metrics, add a second dashboard and a second group of rules.
package mixin

import (
	_ "embed" // the files
	"errors"
	"fmt"
	"regexp"
	"strings"
)

//go:embed alerts.yaml
var alerts string

//go:embed dashboard.json
var dashboard string

// The patterns of what the rules can hold without quotes or escapes.
var (
	jobs       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./:-]*$`)
	namespaces = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	versions   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// Alerts returns the rules for the targets with these labels job and namespace,
// as a rule file of Prometheus. It is also the spec of a PrometheusRule. The
// links to the runbooks point to version, a tag of controllerkit such as
// v0.1.0.
//
// The error names each argument that the rules cannot hold, and the accepted
// values.
func Alerts(job, namespace, version string) ([]byte, error) {
	err := errors.Join(
		check("job", job, jobs, "letters, digits and _ . / : -; the first is a letter or a digit"),
		check("namespace", namespace, namespaces, "a DNS label of at most 63 characters"),
		check("version", version, versions, "a tag such as v0.1.0"))
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("JOB", job, "NAMESPACE", namespace, "VERSION", version)
	return []byte(fill.Replace(alerts)), nil
}

// Dashboard returns the dashboard as JSON for Grafana's import, its
// provisioning or its sidecar. Its variables choose the data source, the
// installation, the scope and the controller. The minimum step of its queries
// is 30 s: where Prometheus scrapes less often, replace "interval": "30s".
func Dashboard() []byte { return []byte(dashboard) }

func check(name, value string, pattern *regexp.Regexp, accepted string) error {
	if pattern.MatchString(value) {
		return nil
	}
	return fmt.Errorf("metrics/mixin: Alerts: %s %q is not accepted; want %s", name, value, accepted)
}
