// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// ErrTarget is wrapped by the error that names each field of Target that cannot
// be used.
var ErrTarget = errors.New("metrics/manifest: invalid target")

// Target says which processes the manifests select and how the objects are
// found. Only Name is required. The zero value of every other field is the
// recommended one.
type Target struct {
	// Name is the name of the objects and, unless Job is set, of the job that
	// Prometheus scrapes: a DNS label. The objects are Name (ServiceMonitor and
	// PrometheusRule) and Name-dashboard (ConfigMap).
	Name string
	// Namespace is the namespace of the objects and of the processes that the
	// alerts select. Zero leaves the namespace to the client that applies the
	// objects, and the alerts select every namespace.
	Namespace string
	// Labels are set on every object, for example release: prometheus where
	// Prometheus Operator selects by it.
	Labels map[string]string

	// Job is the value of the label job: the ServiceMonitor sets it, the alerts
	// select by it. Zero means Name.
	Job string
	// Selector is the labels of the metrics Service. Zero means
	// app.kubernetes.io/name: Name.
	Selector map[string]string
	// Port is the name of the Service's port, and Path where it serves metrics.
	// Zero means metrics and /metrics.
	Port, Path string
	// Interval is the time between scrapes, and the minimum step of the panels.
	// It is at most 2 min, because the alerts' rates look back 5 min. Timeout
	// is the longest scrape, at most Interval. Both are whole milliseconds.
	// Zero means 30 s and 10 s, or Interval where that is less.
	Interval, Timeout time.Duration
	// SampleLimit is the most samples of a scrape; beyond it Prometheus drops
	// the whole scrape. A limit that is never met is metrics.Metrics.MaxSeries
	// plus the endpoint's own series and the series of a second registry. Zero
	// means none.
	SampleLimit int
	// Access is needed if the endpoint uses TLS or a token.
	Access Access

	// KeepLabels are labels of Prometheus that separate installations in the
	// alerts and panels, in addition to namespace and job. Prometheus adds
	// such a label outside of the scrape, as an external label or in the
	// configuration of the target. A label that no series has changes nothing.
	// Zero means cluster.
	KeepLabels []string

	// DashboardLabels are set on the ConfigMap, so that Grafana's sidecar finds
	// it. Zero means grafana_dashboard: "1".
	DashboardLabels map[string]string
	// Folder is Grafana's folder for the dashboard, as the annotation
	// grafana_folder. Zero means that the sidecar decides.
	Folder string

	// RunbookURL is where the runbooks are: http or https, without credentials.
	// {alert} in it is replaced by the alert's name. Without it the name is
	// appended as the last element of the path. Zero means the pages of this
	// library.
	RunbookURL string
	// Thresholds are the thresholds of the alerts.
	Thresholds Thresholds

	// OldNames adds recording rules with the names that dashboards and alerts
	// of controller-runtime use: controller_runtime_*, workqueue_*,
	// rest_client_requests_total and leader_election_master_status. A queue's
	// name is the name of its controller, and the label code of requests is a
	// class such as 2xx. Do not set it where controller-runtime's own registry
	// is scraped too: both would count. Zero means none.
	OldNames bool

	_ struct{} // keyed literals only, so that fields can be added
}

// Access says how Prometheus connects to the endpoint. The zero value is plain
// HTTP, open to every client that reaches it.
type Access struct {
	// TLS scrapes by HTTPS. The certificate is always verified.
	TLS bool
	// ServerName is the name in the certificate. Zero means the address that is
	// scraped, which is a pod's.
	ServerName string
	// CA is the Secret's key with the authorities that signed it, in PEM. Zero
	// means the authorities of Prometheus' system.
	CA SecretKey
	// Token is the Secret's key with the bearer token that the endpoint
	// requires. Zero means none. It needs TLS, because plain HTTP would expose
	// the token.
	Token SecretKey

	_ struct{} // keyed literals only
}

// SecretKey is a key of a Secret in the namespace of the ServiceMonitor. It
// holds the names, never the secret value.
type SecretKey struct{ Name, Key string }

// Thresholds of the alerts. Zero means the default stated at each field.
// Durations are whole milliseconds, above 0 and at most 720h.
type Thresholds struct {
	// ErrorRatio is the share of reconciles that may fail, above 0 and below 1.
	// Zero means 0.1.
	ErrorRatio float64
	// Slow is the longest that 99 of 100 reconciles may take. It is below the
	// last bound of the histogram, 300 s, because no quantile is above that.
	// Where metrics.Options.Buckets sets other bounds, keep it below the last
	// of those: New does not know them, and ControllerReconcileSlow would never
	// fire. Zero means 30 s.
	Slow time.Duration
	// Waiting is the longest that an item may be ready without being taken.
	// Zero means 5 min.
	Waiting time.Duration
	// Stuck is the longest that a worker may hold an item. Zero means 15 min.
	Stuck time.Duration
	// For is how long the state must last before one of these alerts fires:
	// ControllerTargetAbsent, ControllerMetricsMissing,
	// ControllerReconcileErrors, ControllerReconcileSlow,
	// ControllerQueueBacklog, ControllerNoLeader and ControllerTwoLeaders. The
	// other alerts have fixed times: see [Bundle.Alerts]. Zero means 5 min.
	For time.Duration

	_ struct{} // keyed literals only
}

// pages are the runbooks of this library.
const pages = "https://github.com/proompteng/controllerkit/blob/main/examples/operate/runbooks/" + alertPlace + ".md"

// alertPlace is the placeholder for the name of an alert.
const alertPlace = "{alert}"

// withDefaults fills in zero fields, and copies the caller's maps.
func (t Target) withDefaults() Target {
	or(&t.Job, t.Name)
	or(&t.Port, "metrics")
	or(&t.Path, "/metrics")
	or(&t.Interval, 30*time.Second)
	or(&t.Timeout, min(10*time.Second, t.Interval))
	or(&t.RunbookURL, pages)
	or(&t.Thresholds.ErrorRatio, 0.1)
	or(&t.Thresholds.Slow, 30*time.Second)
	or(&t.Thresholds.Waiting, 5*time.Minute)
	or(&t.Thresholds.Stuck, 15*time.Minute)
	or(&t.Thresholds.For, 5*time.Minute)
	t.Labels = maps.Clone(t.Labels)
	t.KeepLabels = slices.Clone(t.KeepLabels)
	if len(t.KeepLabels) == 0 {
		t.KeepLabels = []string{"cluster"}
	}
	if t.Selector = maps.Clone(t.Selector); len(t.Selector) == 0 {
		t.Selector = selectorOf(t.Name)
	}
	if t.DashboardLabels = maps.Clone(t.DashboardLabels); len(t.DashboardLabels) == 0 {
		t.DashboardLabels = map[string]string{"grafana_dashboard": "1"}
	}
	return t
}

// selectorOf returns the default of Selector.
func selectorOf(name string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": name}
}

func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// runbook is the address of an alert's page.
func (t Target) runbook(alert string) string {
	if strings.Contains(t.RunbookURL, alertPlace) {
		return strings.ReplaceAll(t.RunbookURL, alertPlace, alert)
	}
	return strings.TrimSuffix(t.RunbookURL, "/") + "/" + alert
}

// metadata of an object; labels come on top of the target's.
func (t Target) metadata(name string, labels, annotations map[string]string) mapping {
	m := mapping{{"name", name}}
	if t.Namespace != "" {
		m = append(m, field{"namespace", t.Namespace})
	}
	all := maps.Clone(t.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)
	if len(all) > 0 {
		m = append(m, field{"labels", sortedMapping(all)})
	}
	if len(annotations) > 0 {
		m = append(m, field{"annotations", sortedMapping(annotations)})
	}
	return m
}
