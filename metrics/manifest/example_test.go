// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/proompteng/controllerkit/metrics/manifest"
)

// The scrape configuration of a controller whose Prometheus selects by the
// label release.
func Example() {
	pack, err := manifest.New(manifest.Target{Name: "agentrun", Labels: map[string]string{"release": "prometheus"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", pack.ServiceMonitor())
	// Output:
	// apiVersion: monitoring.coreos.com/v1
	// kind: ServiceMonitor
	// metadata:
	//   labels:
	//     release: prometheus
	//   name: agentrun
	// spec:
	//   endpoints:
	//   - honorLabels: false
	//     interval: 30s
	//     path: /metrics
	//     port: metrics
	//     relabelings:
	//     - action: replace
	//       replacement: agentrun
	//       targetLabel: job
	//     scrapeTimeout: 10s
	//   selector:
	//     matchLabels:
	//       app.kubernetes.io/name: agentrun
}

// The error names every field that cannot be used, and the accepted values.
func ExampleNew() {
	_, err := manifest.New(manifest.Target{Name: "Agent Run", Interval: time.Second, Timeout: 2 * time.Second})
	fmt.Println(err)
	// Output:
	// metrics/manifest: invalid target: Target.Name: "Agent Run" is not accepted; want a DNS label of at most 63 characters, such as agentrun
	// metrics/manifest: invalid target: Target.Timeout: 2s is not accepted; want at most Interval, which is 1s
}

// pack is the bundle that the examples below share.
func pack(t manifest.Target) *manifest.Bundle {
	t.Name = "agentrun"
	p, err := manifest.New(t)
	if err != nil {
		fmt.Println(err)
	}
	return p
}

func ExampleBundle_ServiceMonitor() {
	monitor := pack(manifest.Target{Access: manifest.Access{
		TLS: true, ServerName: "agentrun.agents.svc",
		CA:    manifest.SecretKey{Name: "agentrun-tls", Key: "ca.crt"},
		Token: manifest.SecretKey{Name: "scrape", Key: "token"},
	}}).ServiceMonitor()
	_, protected, _ := strings.Cut(string(monitor), "scheme: https\n")
	before, _, _ := strings.Cut(string(monitor), "    honorLabels")
	fmt.Println(strings.Contains(before, "authorization:"))
	protected, _, _ = strings.Cut(protected, "  selector:")
	fmt.Print(protected)
	// Output:
	// true
	//     scrapeTimeout: 10s
	//     tlsConfig:
	//       ca:
	//         secret:
	//           key: ca.crt
	//           name: agentrun-tls
	//       serverName: agentrun.agents.svc
}

// The text is safe in a Helm template: templates for Prometheus are written as
// escapes.
func ExampleBundle_PrometheusRule() {
	rule := pack(manifest.Target{Namespace: "agents"}).PrometheusRule()
	_, alert, _ := strings.Cut(string(rule), "- alert: ControllerNoLeader\n")
	_, summary, _ := strings.Cut(alert, "summary: ")
	summary, _, _ = strings.Cut(summary, "\n      expr:")
	fmt.Println(strings.Join(strings.Fields(summary), " "))
	// Output: "No process that Prometheus sees holds the lease \u007b\u007b $labels.lease }}."
}

// Each alert may have another severity, threshold, duration and labels, or be
// left out.
func ExampleRule() {
	p := pack(manifest.Target{Edit: func(r *manifest.Rule) {
		r.Labels = map[string]string{"team": "agents"}
		if r.Name == "ControllerReconcileErrors" {
			r.Threshold = 0.25
			r.For = time.Hour
		}
		r.Omit = r.Name != "ControllerReconcileErrors"
	}})
	for _, a := range p.Alerts() {
		fmt.Println(a.Name, a.For, a.Labels)
		fmt.Println(a.Expr[strings.LastIndex(a.Expr, "> "):])
	}
	// Output:
	// ControllerReconcileErrors 1h0m0s map[team:agents]
	// > 0.25
}

// For promtool check rules, and for a Prometheus without the operator.
func ExampleBundle_Rules() {
	fmt.Println(strings.Count(string(pack(manifest.Target{}).Rules()), "- alert:"), "alerts")
	// Output: 16 alerts
}

func ExampleBundle_Alerts() {
	p := pack(manifest.Target{RunbookURL: "https://runbooks.example.com/controllers/{alert}/"})
	for _, a := range p.Alerts()[:3] {
		fmt.Println(a.Severity, a.Name, a.For, a.RunbookURL)
	}
	// Output:
	// critical ControllerTargetAbsent 5m0s https://runbooks.example.com/controllers/ControllerTargetAbsent/
	// warning ControllerMetricsMissing 5m0s https://runbooks.example.com/controllers/ControllerMetricsMissing/
	// warning ControllerRestarts 0s https://runbooks.example.com/controllers/ControllerRestarts/
}

func ExampleBundle_Queries() {
	queries := pack(manifest.Target{}).Queries()
	fmt.Println(queries[3].Source)
	fmt.Println(queries[3].Expr)
	fmt.Println(queries[len(queries)-1].Source)
	// Output:
	// panel Leaders
	// sum by (cluster, namespace, job, lease) (controller_leader{cluster=~"$cluster",namespace=~"$namespace",job=~"$job",instance=~"$instance"})
	// alert ControllerSeriesOverflow
}

// The queries that a test has Prometheus' own code answer.
func ExampleQuery_Instant() {
	for _, q := range pack(manifest.Target{}).Queries() {
		if q.Source == "panel Reconciles by result" {
			fmt.Println(q.Instant(10 * time.Second))
		}
	}
	// Output: sum by (cluster, namespace, job, result) (rate(controller_reconciles_total{cluster=~".*",namespace=~".*",job=~".+",instance=~".+",controller=~".+"}[10s]))
}

func ExampleBundle_Dashboard() {
	var dashboard struct {
		Title  string
		Panels []struct{ Type, Title string }
	}
	if err := json.Unmarshal(pack(manifest.Target{}).Dashboard(), &dashboard); err != nil {
		fmt.Println(err)
	}
	fmt.Println(dashboard.Title)
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			fmt.Println("-", p.Title)
		}
	}
	// Output:
	// agentrun: controller
	// - Now
	// - Traffic and errors
	// - Latency
	// - Saturation
	// - Runs
	// - Events and status
	// - API server
	// - State
	// - Process
}

func ExampleBundle_UID() {
	fmt.Println(len(pack(manifest.Target{}).UID()), "characters, the same on every machine")
	// Output: 30 characters, the same on every machine
}

// The sidecar of Grafana's chart finds the ConfigMap by its label.
func ExampleBundle_DashboardConfigMap() {
	configMap := pack(manifest.Target{Folder: "Controllers"}).DashboardConfigMap()
	fmt.Print(string(configMap[bytes.LastIndex(configMap, []byte("kind: ")):]))
	// Output:
	// kind: ConfigMap
	// metadata:
	//   annotations:
	//     grafana_folder: Controllers
	//   labels:
	//     grafana_dashboard: "1"
	//   name: agentrun-dashboard
}

func ExampleTable() {
	rows := strings.Split(string(manifest.Table()), "\n")
	fmt.Println(rows[0])
	fmt.Println(rows[3])
	// Output:
	// | instrument | in Prometheus | unit | kind | labels | meaning |
	// | `controller.reconciles` | `controller_reconciles_total` | {reconcile} | counter | controller, result | Reconciles that have ended, by result. |
}
