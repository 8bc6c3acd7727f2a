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
	// library, of its newest release.
	RunbookURL string
	// Edit, if set, is called once for each alert, in their order. It may
	// change the alert's severity, labels, threshold and duration, or leave it
	// out. The panels keep their thresholds. Zero changes nothing.
	Edit func(*Rule)

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
	// TLS scrapes by HTTPS. It needs ServerName or InsecureSkipVerify, because
	// the address that is scraped is a pod's, which no certificate names.
	TLS bool
	// ServerName is the name in the certificate, usually the name of the
	// Service, such as agentrun-metrics.agents.svc.
	ServerName string
	// CA is the Secret's key with the authorities that signed it, in PEM. Zero
	// means the authorities of Prometheus' system.
	CA SecretKey
	// InsecureSkipVerify accepts every certificate, such as the self-signed one
	// of a new project of kubebuilder. Any server that answers for the pod gets
	// the token.
	InsecureSkipVerify bool
	// Token is the Secret's key with the bearer token that the endpoint
	// requires. Zero means none. It needs TLS, because plain HTTP would expose
	// the token.
	Token SecretKey
	// TokenFile is the path of a file with the token, in Prometheus' container:
	// /var/run/secrets/kubernetes.io/serviceaccount/token is the token of its
	// service account. Zero means none. It needs TLS, and no Token.
	TokenFile string

	_ struct{} // keyed literals only
}

// SecretKey is a key of a Secret in the namespace of the ServiceMonitor. It
// holds the names, never the secret value.
type SecretKey struct{ Name, Key string }

// pages are the runbooks of the newest release. Those of main may describe
// other alerts than the ones that run.
const pages = "https://github.com/proompteng/controllerkit/blob/v0.1.0/" +
	"examples/operate/runbooks/" + alertPlace + ".md"

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
	t.Labels = maps.Clone(t.Labels)
	t.KeepLabels = slices.Clone(t.KeepLabels)
	if len(t.KeepLabels) == 0 {
		t.KeepLabels = []string{"cluster"}
	}
	t.Selector = maps.Clone(t.Selector)
	if len(t.Selector) == 0 {
		t.Selector = selectorOf(t.Name)
	}
	t.DashboardLabels = maps.Clone(t.DashboardLabels)
	if len(t.DashboardLabels) == 0 {
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
func (t Target) metadata(name string, labels, annotations map[string]string) metadata {
	all := map[string]string{}
	maps.Copy(all, t.Labels)
	maps.Copy(all, labels)
	return metadata{Name: name, Namespace: t.Namespace, Labels: all, Annotations: annotations}
}
