// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"math"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/proompteng/controllerkit/metrics/manifest"
)

func TestTargetsThatCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*manifest.Target)
		want   string
		reason string
	}{
		"no name":             {func(t *manifest.Target) { t.Name = "" }, `Name: ""`, "objects have one"},
		"a name in capitals":  {func(t *manifest.Target) { t.Name = "AgentRun" }, `Name: "AgentRun"`, "no name of an object"},
		"a long name":         {func(t *manifest.Target) { t.Name = strings.Repeat("a", 64) }, "at most 63", "also the value of a label"},
		"a name with a break": {func(t *manifest.Target) { t.Name = "agentrun\n" }, `Name: "agentrun\n"`, "a name must not contain a line break"},
		"a namespace":         {func(t *manifest.Target) { t.Namespace = "agents.prod" }, `Namespace: "agents.prod"`, "a namespace is a label"},
		"a label's key":       {func(t *manifest.Target) { t.Labels = map[string]string{"a b": "c"} }, `Labels: "a b"`, "refused by the API server"},
		"a label's prefix":    {func(t *manifest.Target) { t.Labels = map[string]string{"Team!/a": "c"} }, `Labels: "Team!/a"`, "refused by the API server"},
		"an empty prefix":     {func(t *manifest.Target) { t.Labels = map[string]string{"/a": "c"} }, `Labels: "/a"`, "refused by the API server"},
		"a label's value":     {func(t *manifest.Target) { t.Labels = map[string]string{"a": "{{x}}"} }, `Labels["a"]: "{{x}}"`, "Helm would read it"},
		"a selector":          {func(t *manifest.Target) { t.Selector = map[string]string{"": "c"} }, `Selector: ""`, "selects nothing"},
		"dashboard labels":    {func(t *manifest.Target) { t.DashboardLabels = map[string]string{"a": "b c"} }, `DashboardLabels["a"]: "b c"`, "refused"},
		"a job":               {func(t *manifest.Target) { t.Job = `a"b` }, `Job: "a\"b"`, "part of queries"},
		"a job's template":    {func(t *manifest.Target) { t.Job = "{{x}}" }, `Job: "{{x}}"`, "labels of alerts are templates"},
		"a port's number":     {func(t *manifest.Target) { t.Port = "8080" }, `Port: "8080"`, "a ServiceMonitor names ports"},
		"a long port":         {func(t *manifest.Target) { t.Port = "metrics-and-more" }, `Port: "metrics-and-more"`, "at most 15"},
		"a path":              {func(t *manifest.Target) { t.Path = "metrics" }, `Path: "metrics"`, "relative"},
		"a path's query":      {func(t *manifest.Target) { t.Path = "/metrics?a=b" }, `Path: "/metrics?a=b"`, "parameters are another field there"},
		"a negative interval": {func(t *manifest.Target) { t.Interval = -1 }, "Interval: -1ns", "no time"},
		"nanoseconds":         {func(t *manifest.Target) { t.Interval = time.Minute + 1 }, "whole milliseconds", "Prometheus knows none"},
		"a long interval":     {func(t *manifest.Target) { t.Interval = 2*time.Minute + time.Millisecond }, "at most 2m0s, because the rates of the alerts look back 5m", "a rate of one scrape has no value"},
		"a long wait": {func(t *manifest.Target) {
			edit(t, "ControllerNoLeader", func(r *manifest.Rule) { r.For = 31 * 24 * time.Hour })
		}, "Edit of ControllerNoLeader: For: 744h0m0s is not accepted; want whole milliseconds, above 0 and at most 720h0m0s", "an alert that waits so long is a mistake"},
		"the timeout":         {func(t *manifest.Target) { t.Timeout = time.Minute }, "at most Interval, which is 30s", "Prometheus refuses the whole configuration"},
		"a sample limit":      {func(t *manifest.Target) { t.SampleLimit = -1 }, "SampleLimit: -1", "no number of samples"},
		"a folder":            {func(t *manifest.Target) { t.Folder = "a\nb" }, `Folder: "a\nb"`, "one line"},
		"a name without TLS":  {func(t *manifest.Target) { t.Access.ServerName = "a.example" }, "Access.TLS: false", "it would be verified nowhere"},
		"a token without TLS": {func(t *manifest.Target) { t.Access.Token = manifest.SecretKey{Name: "a", Key: "b"} }, "in the clear", "read by everyone on the way"},
		"a file without TLS":  {func(t *manifest.Target) { t.Access.TokenFile = "/token" }, "in the clear", "read by everyone on the way"},
		"a relative file": {func(t *manifest.Target) {
			t.Access = manifest.Access{TLS: true, InsecureSkipVerify: true, TokenFile: "token"}
		}, `Access.TokenFile: "token"`, "relative to what?"},
		"two tokens": {func(t *manifest.Target) {
			t.Access = manifest.Access{TLS: true, ServerName: "a", TokenFile: "/token", Token: manifest.SecretKey{Name: "a", Key: "b"}}
		}, "none where Token is set", "which one?"},
		"TLS without a name": {func(t *manifest.Target) { t.Access.TLS = true }, `Access.ServerName: "" is not accepted; want the name in the certificate, such as agentrun-metrics.agents.svc, or InsecureSkipVerify`, "the address is a pod's, which no certificate names"},
		"an unused authority": {func(t *manifest.Target) {
			t.Access = manifest.Access{TLS: true, InsecureSkipVerify: true, CA: manifest.SecretKey{Name: "a", Key: "b"}}
		}, "Access.InsecureSkipVerify", "it would verify nothing"},
		"skip without TLS":  {func(t *manifest.Target) { t.Access.InsecureSkipVerify = true }, "Access.TLS: false", "there is nothing to verify"},
		"a folder's escape": {func(t *manifest.Target) { t.Folder = `a\x01` }, `Folder: "a\\x01"`, "an escape of YAML"},
		"half a secret": {func(t *manifest.Target) {
			t.Access = manifest.Access{TLS: true, ServerName: "a", CA: manifest.SecretKey{Name: "a"}}
		}, `Access.CA: "a/"`, "which key?"},
		"a server name":     {func(t *manifest.Target) { t.Access = manifest.Access{TLS: true, ServerName: "*"} }, "Access.ServerName", "a name"},
		"a kept label":      {func(t *manifest.Target) { t.KeepLabels = []string{"cluster", "k8s-cluster"} }, `Target.KeepLabels[1]: "k8s-cluster" is not accepted; want the name of a label: letters, digits and _, such as cluster`, "no name in a query"},
		"an empty label":    {func(t *manifest.Target) { t.KeepLabels = []string{""} }, `KeepLabels[0]: ""`, "no name in a query"},
		"a label's action":  {func(t *manifest.Target) { t.KeepLabels = []string{"{{x}}"} }, `KeepLabels[0]: "{{x}}"`, "legends are templates"},
		"Prometheus' label": {func(t *manifest.Target) { t.KeepLabels = []string{"__name__"} }, `KeepLabels[0]: "__name__"`, "a series has none after a sum"},
		"a variable's name": {func(t *manifest.Target) { t.KeepLabels = []string{"datasource"} }, `KeepLabels[0]: "datasource"`, "the dashboard has a variable of that name"},
		"a process' label":  {func(t *manifest.Target) { t.KeepLabels = []string{"pod"} }, `KeepLabels[0]: "pod" is not accepted; want a label that the queries do not use themselves, such as cluster; they use alertname, code,`, "two leaders are two pods"},
		"an instrument's":   {func(t *manifest.Target) { t.KeepLabels = []string{"lease"} }, `KeepLabels[0]: "lease"`, "most series have none"},
		"a label twice":     {func(t *manifest.Target) { t.KeepLabels = []string{"cluster", "cluster"} }, `KeepLabels[1]: "cluster" is not accepted; want each name once`, "Prometheus refuses it in a rule"},
		"no ratio": {func(t *manifest.Target) {
			edit(t, "ControllerReconcileErrors", func(r *manifest.Rule) { r.Threshold = math.NaN() })
		}, "Edit of ControllerReconcileErrors: Threshold: NaN", "nothing is above it"},
		"slower than buckets": {func(t *manifest.Target) {
			edit(t, "ControllerReconcileSlow", func(r *manifest.Rule) { r.Threshold = 300 })
		}, "below 300, the last bound of the histogram", "no quantile is above the last bound"},
		"for": {func(t *manifest.Target) {
			edit(t, "ControllerNoLeader", func(r *manifest.Rule) { r.For = -time.Minute })
		}, "For: -1m0s", "refused by Prometheus"},
		"no severity": {func(t *manifest.Target) { edit(t, "ControllerNoLeader", func(r *manifest.Rule) { r.Severity = "" }) }, `Severity: ""`, "Alertmanager routes by it"},
		"severity as a label": {func(t *manifest.Target) {
			edit(t, "ControllerNoLeader", func(r *manifest.Rule) { r.Labels = map[string]string{"severity": "page"} })
		}, `Labels: "severity"`, "it has a field"},
		"an alert's label": {func(t *manifest.Target) {
			edit(t, "ControllerNoLeader", func(r *manifest.Rule) { r.Labels = map[string]string{"my-team": "a"} })
		}, `Labels: "my-team"`, "no name of a label"},
		"an alert's label's value": {func(t *manifest.Target) {
			edit(t, "ControllerNoLeader", func(r *manifest.Rule) { r.Labels = map[string]string{"team": "a\nb"} })
		}, `Labels["team"]: "a\nb"`, "one line"},
		"a runbook's scheme": {func(t *manifest.Target) { t.RunbookURL = "javascript:alert(1)" }, "RunbookURL", "a link that people click"},
		"a relative runbook": {func(t *manifest.Target) { t.RunbookURL = "/runbooks" }, "RunbookURL", "relative to what?"},
		"no runbook's host":  {func(t *manifest.Target) { t.RunbookURL = "https://" }, "RunbookURL", "nowhere"},
		"a runbook's secret": {func(t *manifest.Target) { t.RunbookURL = "https://u:p4ss@example.com/" }, "RunbookURL", "credentials in a page of alerts"},
		"a runbook's query":  {func(t *manifest.Target) { t.RunbookURL = "https://example.com/?page=a" }, "{alert}", "the name would land in the query"},
		"a runbook's action": {func(t *manifest.Target) { t.RunbookURL = "https://example.com/{{x}}" }, "RunbookURL", "annotations are templates"},
	} {
		t.Run(name, func(t *testing.T) {
			target := manifest.Target{Name: "agentrun"}
			tc.change(&target)
			_, err := manifest.New(target)
			require.ErrorIs(t, err, manifest.ErrTarget, tc.reason)
			require.ErrorContains(t, err, tc.want, tc.reason)
			assert.NotContains(t, err.Error(), "p4ss")
		})
	}
}

// edit changes one alert.
func edit(t *manifest.Target, name string, change func(*manifest.Rule)) {
	t.Edit = func(r *manifest.Rule) {
		if r.Name == name {
			change(r)
		}
	}
}

// Every value of an alert and of a panel keeps the labels, and the legends name
// them.
func TestNew_KeepsTheLabelsOfTheTarget(t *testing.T) {
	p := newPack(t, manifest.Target{KeepLabels: []string{"region", "k8s_cluster"}})
	for _, q := range p.Queries() {
		for _, clause := range regexp.MustCompile(`(sum|max|count|by|on) \(.*?[,)]`).FindAllString(q.Expr, -1) {
			assert.Regexp(t, `^(by|on) \((region,|\))`, clause, "%s: %s", q.Source, q.Expr)
		}
		selected := regexp.MustCompile(`\{region=~"\$region",k8s_cluster=~"\$k8s_cluster",`).ReplaceAllString(q.Expr, "")
		assert.NotContains(t, regexp.MustCompile(`\(region, k8s_cluster[,)]`).ReplaceAllString(selected, ""), "region", q.Source)
		assert.NotContains(t, q.Instant(time.Minute), `"$`, "the variable selects everything")
	}
	assert.NotContains(t, string(p.Dashboard()), `{cluster}}`)
	assert.Contains(t, string(p.Dashboard()), `\u007b\u007bcontroller}} p50 \u007b\u007bregion}} \u007b\u007bk8s_cluster}} \u007b\u007bnamespace}} \u007b\u007bjob}}`)
	for _, name := range []string{"region", "k8s_cluster"} {
		assert.Contains(t, string(p.Dashboard()), `"definition": "label_values(controller_reconciles_total, `+name+`)"`)
	}
	assert.Equal(t, newPack(t, manifest.Target{}).Rules(), newPack(t, manifest.Target{KeepLabels: []string{"cluster"}}).Rules())
}

func TestTheTimeoutFollowsAShortInterval(t *testing.T) {
	monitor := string(newPack(t, manifest.Target{Interval: 1500 * time.Millisecond}).ServiceMonitor())
	assert.Contains(t, monitor, `interval: 1s500ms`)
	assert.Contains(t, monitor, `scrapeTimeout: 1s500ms`)
}

func TestRunbookLinks(t *testing.T) {
	for base, want := range map[string]string{
		"https://example.com/books":         "https://example.com/books/ControllerNoLeader",
		"https://example.com/books/":        "https://example.com/books/ControllerNoLeader",
		"https://example.com/b#{alert}":     "https://example.com/b#ControllerNoLeader",
		"http://example.com/?page={alert}":  "http://example.com/?page=ControllerNoLeader",
		"https://example.com/{alert}/a.htm": "https://example.com/ControllerNoLeader/a.htm",
	} {
		for _, a := range newPack(t, manifest.Target{RunbookURL: base}).Alerts() {
			if a.Name == "ControllerNoLeader" {
				assert.Equal(t, want, a.RunbookURL, base)
			}
		}
	}
}

// Edit changes the severity, labels, threshold and duration of each alert, or
// leaves it out, and nothing else.
func TestEdit_ChangesEachRule(t *testing.T) {
	plain := newPack(t, manifest.Target{Namespace: "agents", Job: "runs"})
	p := newPack(t, manifest.Target{Namespace: "agents", Job: "runs", Edit: func(r *manifest.Rule) {
		r.Labels = map[string]string{"team": "agents"}
		switch r.Name {
		case "ControllerReconcileErrors":
			r.Threshold = 0.25
			r.For = 90 * time.Second
		case "ControllerNoLeader":
			r.Severity = "page"
		case "ControllerRestarts":
			r.Omit = true
		}
		r.Name = "Other"
	}})
	require.Len(t, p.Alerts(), len(plain.Alerts())-1)
	edited := map[string]manifest.Alert{}
	for _, a := range p.Alerts() {
		edited[a.Name] = a
	}
	for _, a := range plain.Alerts() {
		is, ok := edited[a.Name]
		if a.Name == "ControllerRestarts" {
			assert.False(t, ok, "left out")
			continue
		}
		assert.Contains(t, a.Expr, `job="runs",namespace="agents"`, a.Name)
		assert.Equal(t, "agents", is.Labels["team"], a.Name)
		for name, value := range a.Labels {
			assert.Equal(t, value, is.Labels[name], "%s: labels of the target stay", a.Name)
		}
		switch a.Name {
		case "ControllerReconcileErrors":
			assert.Regexp(t, "> 0.25$", is.Expr)
			assert.Equal(t, 90*time.Second, is.For)
		case "ControllerNoLeader":
			assert.Equal(t, "page", is.Severity)
		default:
			is.Labels = a.Labels
			assert.Equal(t, a, is, "nothing else changes")
		}
	}
	assert.Contains(t, string(p.Rules()), "for: 1m30s")
	assert.Contains(t, string(p.Rules()), "team: agents")
	assert.Contains(t, string(p.ServiceMonitor()), "replacement: runs")
}

// The ServiceMonitor of a new project of kubebuilder.
func TestAccess_SaysWhatKubebuilderScaffolds(t *testing.T) {
	monitor := string(newPack(t, manifest.Target{Access: manifest.Access{
		TLS: true, InsecureSkipVerify: true, TokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
	}}).ServiceMonitor())
	assert.Contains(t, monitor, "bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token")
	assert.Contains(t, monitor, "scheme: https")
	assert.Contains(t, monitor, "tlsConfig:\n      insecureSkipVerify: true\n")
}

// object is a parsed manifest.
type object struct {
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	Data map[string]string
	Spec struct {
		Selector  struct{ MatchLabels map[string]string }
		Endpoints []struct {
			Port, Path, Interval, ScrapeTimeout string
		}
		Groups []struct {
			Rules []struct{ Alert, Expr, For string }
		}
	}
}

func read(t *testing.T, body []byte) (o object) {
	t.Helper()
	assert.NotContains(t, string(body), "{{", "Helm would read it")
	require.NoError(t, yaml.Unmarshal(body, &o), string(body))
	return o
}

// Every accepted target is read again with the same meaning, passes the API
// server's own rules, and opens no action of a template.
func FuzzTarget(f *testing.F) {
	f.Add("agentrun", "agents", "release", "prometheus", "metrics", "/metrics", "agents/agentrun", "Folder: \"a\" #1", "https://example.com/{alert}", int64(30_000), int64(500))
	f.Add("on", "null", "example.com/true", "1e3", "http-metrics", "/", "0x1f", "{{ .Values.x }}", "http://a/?b={alert}", int64(1), int64(1))
	f.Add("1", "2", "y", "", "p", "/~", "-", "\u2028", "https://[::1]:80/", int64(120_000), int64(299_999))
	f.Fuzz(func(t *testing.T, name, namespace, key, value, port, path, job, folder, runbook string, interval, slow int64) {
		p, err := manifest.New(manifest.Target{
			Name: name, Namespace: namespace, Labels: map[string]string{key: value}, Selector: map[string]string{key: value}, Port: port, Path: path,
			Job: job, Folder: folder, RunbookURL: runbook, Interval: time.Duration(interval) * time.Millisecond,
			Edit: func(r *manifest.Rule) { r.Threshold = float64(slow) / 1000 },
		})
		if err != nil {
			require.ErrorIs(t, err, manifest.ErrTarget)
			return
		}
		require.Empty(t, validation.IsDNS1123Label(name))
		require.Empty(t, validation.IsQualifiedName(key))
		require.Empty(t, validation.IsValidLabelValue(value))
		if port != "" {
			require.Empty(t, validation.IsValidPortName(port))
		}
		monitor, rule, dashboard := read(t, p.ServiceMonitor()), read(t, p.PrometheusRule()), read(t, p.DashboardConfigMap())
		for _, o := range []object{monitor, rule} {
			assert.Equal(t, name, o.Metadata.Name)
			assert.Equal(t, namespace, o.Metadata.Namespace)
			assert.Equal(t, map[string]string{key: value}, o.Metadata.Labels)
		}
		assert.Equal(t, map[string]string{key: value}, monitor.Spec.Selector.MatchLabels)
		if interval != 0 {
			assert.Equal(t, time.Duration(interval)*time.Millisecond, parse(t, monitor.Spec.Endpoints[0].Interval))
		}
		if path != "" {
			assert.Equal(t, path, monitor.Spec.Endpoints[0].Path)
		}
		assert.Equal(t, folder, dashboard.Metadata.Annotations["grafana_folder"])
		assert.Equal(t, string(p.Dashboard()), dashboard.Data[p.UID()+".json"])
		assert.Empty(t, faults(p.Dashboard()))
		for n, a := range p.Alerts() {
			r := rule.Spec.Groups[0].Rules[n]
			assert.Equal(t, a.Expr, r.Expr)
			assert.Equal(t, a.For, parse(t, r.For))
			u, err := url.Parse(a.RunbookURL)
			require.NoError(t, err)
			assert.Contains(t, []string{"http", "https"}, u.Scheme)
		}
	})
}

// parse reads a duration of Prometheus. Go writes durations of these units the
// same way.
func parse(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	require.NoError(t, err)
	return d
}
