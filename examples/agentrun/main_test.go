// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	eventsettings "github.com/proompteng/controllerkit/events/settings"
	"github.com/proompteng/controllerkit/jobgc/settings"
)

func environ(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v, true
			}
		}
		return "", false
	}
}

//req:shows E4
func TestWrongSettingsEndWithOneClearLine(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	busy := taken.Addr().String()
	cases := map[string]struct {
		reason string
		args   []string
		env    []string
		says   []string
	}{
		"UnknownFlag":   {"A typing error must not be ignored.", []string{"--worker=3"}, nil, []string{"-worker"}},
		"BadNumber":     {"The value and the flag are named.", []string{"--workers=many"}, nil, []string{"workers", "many"}},
		"NoQPS":         {"A client without requests does nothing.", []string{"--kube-api-qps=0"}, nil, []string{"--kube-api-qps", "more than 0"}},
		"QPSOfNaN":      {"It is not a number.", []string{"--kube-api-qps=nan"}, nil, []string{"--kube-api-qps"}},
		"NoBurst":       {"A client without requests does nothing.", []string{"--kube-api-burst=0"}, nil, []string{"--kube-api-burst", "at least 1"}},
		"NoWorkers":     {"Zero workers would do nothing.", []string{"--workers=0"}, nil, []string{"--workers", "at least 1"}},
		"LogFormat":     {"The accepted values are named.", []string{"--log-format=xml"}, nil, []string{"xml", "json or text"}},
		"Argument":      {"Every setting is a flag.", []string{"run"}, nil, []string{`"run"`, "--help"}},
		"Boolean":       {"A malformed variable is named.", nil, []string{"JANGAR_CONTROLLER_EVENTS_ENABLED=maybe"}, []string{"JANGAR_CONTROLLER_EVENTS_ENABLED", "maybe"}},
		"Rate":          {"Zero would write no Event.", nil, []string{"JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN=0"}, []string{"JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN"}},
		"Duration":      {"30d must not become 30 seconds.", nil, []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=30d"}, []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS", "30d", "10m"}},
		"NoKubeconfig":  {"The file is named.", []string{"--kubeconfig=does/not/exist"}, nil, []string{"does/not/exist"}},
		"AddressInUse":  {"The flag is named.", []string{"--kubeconfig=testdata/kubeconfig.yaml", "--metrics-bind-address=256.0.0.1:1"}, nil, []string{"--metrics-bind-address"}},
		"PortInUse":     {"The address is named.", []string{"--reconcile=false", "--metrics-bind-address=" + busy}, nil, []string{"--metrics-bind-address", busy, "in use"}},
		"NoCertificate": {"The flag and the file are named.", []string{"--reconcile=false", "--metrics-tls-cert-file=none.pem", "--metrics-tls-key-file=none.pem"}, nil, []string{"--metrics-tls-cert-file", "none.pem"}},
		"NotPEM":        {"The file has no certificate.", []string{"--reconcile=false", "--metrics-tls-cert-file=main.go", "--metrics-tls-key-file=main.go"}, nil, []string{"--metrics-tls-cert-file", "PEM"}},
		"NoKey":         {"A certificate needs its key.", []string{"--metrics-tls-cert-file=none.pem"}, nil, []string{"--metrics-tls-key-file", "both"}},
		"NoPort":        {"A port without a colon is a common mistake.", []string{"--kubeconfig=testdata/kubeconfig.yaml", "--metrics-bind-address=8080"}, nil, []string{"--metrics-bind-address", `"8080"`, ":8080"}},
		"NotANamespace": {"A namespace that cannot exist would never have runs.", []string{"--namespaces=ok,A_B"}, nil, []string{"--namespaces", `"A_B"`}},
		"Nothing":       {"Variables that are not set would make it everything.", []string{"--namespaces= , "}, nil, []string{"--namespaces", `" , "`, "leave it out"}},
		"Twice":         {"It would be counted twice.", []string{"--namespaces=a, b,a"}, nil, []string{"--namespaces", `"a"`, "twice"}},
		"TwoVariables":  {"One line names all mistakes.", nil, []string{"JANGAR_CONTROLLER_EVENTS_ENABLED=maybe", "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=30d"}, []string{"maybe", "30d"}},
		"NoKubeconfigs": {"A file without a cluster is named.", []string{"--kubeconfig=testdata/empty.yaml"}, nil, []string{"testdata/empty.yaml", "KUBECONFIG"}},
		"NotAConfig":    {"The error names the file and quotes none of its contents.", []string{"--kubeconfig=main_test.go"}, nil, []string{"main_test.go", "not a kubeconfig"}},
		"NobodyToElect": {"A lease without a reconciler is a mistake.", []string{"--reconcile=false", "--leader-elect"}, nil, []string{"--leader-elect", "--reconcile=false"}},
		"LeaseName":     {"The API server would refuse it.", []string{"--leader-elect", "--leader-elect-lease-name=A_B"}, nil, []string{"--leader-elect-lease-name", `"A_B"`}},
		"LeaseIn":       {"The API server would refuse it.", []string{"--leader-elect", "--leader-elect-lease-namespace=a.b"}, nil, []string{"--leader-elect-lease-namespace", `"a.b"`}},
		"PodNamespace":  {"The variable is named, not the flag.", []string{"--leader-elect"}, []string{"POD_NAMESPACE=A B"}, []string{"POD_NAMESPACE", `"A B"`}},
		"LeaseSeconds":  {"A Lease has whole seconds.", []string{"--leader-elect-lease-duration=1500ms"}, nil, []string{"--leader-elect-lease-duration", "1.5s", "whole seconds"}},
		"LeaseTooShort": {"It would be lost at the first slow request.", []string{"--leader-elect-lease-duration=1s"}, nil, []string{"1s", "3s to 1h"}},
		"Selector":      {"The API server would refuse it.", []string{"--selector=shard in a"}, nil, []string{"--selector", `"shard in a"`}},
		"SharedLease":   {"The shards would wait for each other.", []string{"--selector=shard=a", "--leader-elect"}, nil, []string{"--selector", "--leader-elect-lease-name"}},
		"HoldsOfAShard": {"The Jobs of other shards would be released too.", []string{"--selector=shard=a", "--release-holds"}, nil, []string{"--selector", "--release-holds"}},
		"NoSuchContext": {"The context is named.", []string{"--kubeconfig=testdata/kubeconfig.yaml", "--context=moon"}, nil, []string{"moon", "nowhere"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, pair := range tc.env { // OpenTelemetry's library reads the process's environment
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			var stdout, stderr bytes.Buffer
			assert.Equal(t, 2, run(t.Context(), tc.args, environ(tc.env...), &stdout, &stderr), tc.reason)
			assert.Empty(t, stdout.String())
			assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %s", stderr.String())
			for _, want := range tc.says {
				assert.Contains(t, stderr.String(), want, tc.reason)
			}
		})
	}
}

//req:shows A3 J1
func TestHelpShowsEverySettingWithItsDefault(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(t.Context(), []string{"--help"}, environ(), &stdout, &stderr))
	assert.Empty(t, stderr.String())
	for _, flag := range []string{
		"-kubeconfig", "-context", "-namespaces", "-selector", "-workers", "-metrics-bind-address", "-log-format", "-version", "-reconcile", "-hold-jobs", "-release-holds",
		"-leader-elect", "-leader-elect-lease-name", "-leader-elect-lease-namespace", "-leader-elect-lease-duration",
		"-metrics-tls-cert-file", "-metrics-tls-key-file",
	} {
		assert.Contains(t, stdout.String(), flag)
	}

	read := map[string]bool{}
	note := func(name string) (string, bool) { read[name] = true; return "", false }
	_, err := eventsettings.FromEnv(note, eventsettings.JangarNames())
	require.NoError(t, err)
	_, err = settings.FromEnv(note, settings.JangarNames())
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, name := range regexp.MustCompile(`(?m)^  ([A-Z_]+)$`).FindAllString(stdout.String(), -1) {
		shown[strings.TrimSpace(name)] = true
	}
	for _, name := range []string{"KUBECONFIG", "POD_NAMESPACE", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		assert.Contains(t, shown, name)
		delete(shown, name) // other packages read them
	}
	assert.Equal(t, read, shown, "--help shows the variables that are read")
}

func TestVersion(t *testing.T) {
	var stdout bytes.Buffer
	assert.Zero(t, run(t.Context(), []string{"--version"}, environ(), &stdout, &bytes.Buffer{}))
	assert.Regexp(t, `^agentrun \S+\n$`, stdout.String())
}

func TestHandler_CutsTextsOfMegabytes(t *testing.T) {
	long := strings.Repeat("refused ", 1<<17)
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		o := options{logFormat: format}
		log := logr.FromSlogHandler(o.handler(&out))
		log.Error(errors.New(long), "Could not delete some runs", "why", long)
		log.Info(long)
		assert.Equal(t, 2, strings.Count(out.String(), "\n"), "one line each")
		assert.Less(t, out.Len(), 4<<10, format)
		assert.Contains(t, out.String(), "refused", "the beginning stays")
		assert.Contains(t, out.String(), "Could not delete some runs")
	}
}
