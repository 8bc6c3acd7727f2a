// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	eventsettings "github.com/proompteng/controllerkit/events/settings"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/jobgc/settings"
)

// options are the program's settings: its flags, and the packages' settings
// from the environment.
type options struct {
	kubeconfig, context string
	metricsAddress      string
	certFile, keyFile   string
	logFormat           string
	version             bool
	sending             sending
	reconcile           bool
	releaseHolds        bool

	leaderElect               bool
	leaseName, leaseNamespace string
	leaseDuration             time.Duration

	qps   float64
	burst int

	controller controller.Options
}

const defaultLeaseName = "agentrun"

const intro = `agentrun runs AgentRuns (agentruns.agents.controllerkit.dev) as Jobs.

Usage: agentrun [flags]
       agentrun manifests [flags]   print the workload that runs it in a cluster, or its canary

Flags:
`

// environment is the part of --help about variables. A test compares its names
// with the variables that the packages read.
const environment = `
Environment:
  JANGAR_CONTROLLER_EVENTS_ENABLED
        record Kubernetes Events: 1 t true yes on, or 0 f false no off (default true)
  JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN
        most events written about one object in any minute (default 5)
  JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS
        how long a Job stays after its result is recorded: 600 or 10m, 30s to 168h, 0 keeps it (default 600)
  JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS
        how long a finished AgentRun stays, a minute or more, 0 keeps it (default 2592000, 30 days)
  JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS
        how long a collector shall keep the agent's logs, an annotation on the Job (default 604800, 7 days)
  POD_NAME
        names this replica in its events and in the lease (default the hostname)
  POD_NAMESPACE
        the namespace of the lease, if --leader-elect-lease-namespace is not set
  OTEL_TRACES_EXPORTER
        otlp or console: export a span for each reconcile; metrics then have exemplars, and log lines trace_id and span_id (default none;
        needs a program that is built with -tags=otlp, as the two below)
  OTEL_METRICS_EXPORTER
        otlp or console: export the metrics in addition to the endpoint (default none)
  OTEL_EXPORTER_OTLP_ENDPOINT
        the address for otlp (default http://localhost:4318); the other standard variables of OpenTelemetry work too
  KUBECONFIG
        kubeconfig files, as for kubectl, if --kubeconfig is not set
`

// parse reads the command line and the environment. A mistake is a usageError
// of one line.
func parse(args []string, lookup func(string) (string, bool), help io.Writer) (options, error) {
	var o options
	var namespaces string
	flags := flag.NewFlagSet("agentrun", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned, and help is printed below
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`; empty means KUBECONFIG, then the default, then the service account of the pod")
	flags.StringVar(&o.context, "context", "", "`name` of the kubeconfig context; empty means the current one")
	flags.Float64Var(&o.qps, "kube-api-qps", 100, "`requests` a second to the API server, at most, over time")
	flags.IntVar(&o.burst, "kube-api-burst", 200, "`requests` in a burst, at most")
	flags.StringVar(&namespaces, "namespaces", "", "comma-separated `list` of namespaces to work in; empty means all")
	flags.StringVar(&o.controller.Selector, "selector", "", "label `selector` of the runs to work on, such as shard=a or 'shard notin (a,b)'; empty means all. Other replicas handle the rest")
	flags.IntVar(&o.controller.Workers, "workers", 4, "`number` of concurrent reconciles; one namespace gets at most half of them")
	flags.BoolVar(&o.reconcile, "reconcile", true, "false only serves the endpoint and sends no request to the cluster")
	flags.BoolVar(&o.controller.Hold, "hold-jobs", false, "keep each Job until its result is recorded, by a finalizer; run --release-holds before you remove the controller (default false)")
	flags.BoolVar(&o.releaseHolds, "release-holds", false, "remove the finalizer of --hold-jobs from every Job in --namespaces and exit; stop the controller first")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "reconcile only while holding the lease, so that several replicas can run (default false)")
	flags.StringVar(&o.leaseName, "leader-elect-lease-name", defaultLeaseName, "`name` of the lease")
	flags.StringVar(&o.leaseNamespace, "leader-elect-lease-namespace", "", "`namespace` of the lease; empty means POD_NAMESPACE, then the namespace of the kubeconfig context or of the pod")
	flags.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long a lease lasts without a renewal, in whole seconds; after it another replica replaces a dead leader")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", "127.0.0.1:8080", "`address` that serves /metrics, /healthz and /readyz; port 0 picks a free one")
	flags.StringVar(&o.certFile, "metrics-tls-cert-file", "", "`file` with the endpoint's certificate, in PEM; empty means plain HTTP")
	flags.StringVar(&o.keyFile, "metrics-tls-key-file", "", "`file` with the certificate's key")
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of the log, json or text")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, intro)
		flags.SetOutput(help)
		flags.PrintDefaults()
		fmt.Fprint(help, environment)
		return o, err
	} else if err != nil {
		return o, usageError{fmt.Errorf("%w; see --help", err)}
	}
	switch {
	case flags.NArg() > 0:
		return o, usageError{fmt.Errorf("unexpected argument %q; every setting is a flag, see --help", flags.Arg(0))}
	case o.logFormat != "json" && o.logFormat != "text":
		return o, usageError{fmt.Errorf("--log-format: %q is not accepted; want json or text", o.logFormat)}
	case (o.certFile == "") != (o.keyFile == ""):
		return o, usageError{errors.New("--metrics-tls-cert-file, --metrics-tls-key-file: want both or neither")}
	case !(o.qps > 0) || o.qps > 1e6:
		return o, usageError{fmt.Errorf("--kube-api-qps: %v is not accepted; want more than 0, at most 1000000", o.qps)}
	case o.burst < 1:
		return o, usageError{fmt.Errorf("--kube-api-burst: %d is not accepted; want at least 1", o.burst)}
	case o.controller.Workers < 1:
		return o, usageError{fmt.Errorf("--workers: %d is not accepted; want at least 1", o.controller.Workers)}
	}
	if err := o.checkLease(); err != nil {
		return o, usageError{err}
	}
	if err := o.checkSelector(); err != nil {
		return o, usageError{err}
	}
	if _, _, err := net.SplitHostPort(o.metricsAddress); err != nil {
		return o, usageError{fmt.Errorf("--metrics-bind-address: %q is not accepted; want host:port such as 127.0.0.1:8080 or :8080", o.metricsAddress)}
	}
	for n := range strings.SplitSeq(namespaces, ",") {
		if n = strings.TrimSpace(n); n == "" {
			continue
		}
		if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			return o, usageError{fmt.Errorf("--namespaces: %q is not a namespace: %s", n, wrong[0])}
		}
		if slices.Contains(o.controller.Namespaces, n) {
			return o, usageError{fmt.Errorf("--namespaces: %q is there twice; want each once", n)}
		}
		o.controller.Namespaces = append(o.controller.Namespaces, n)
	}
	if namespaces != "" && len(o.controller.Namespaces) == 0 {
		return o, usageError{fmt.Errorf("--namespaces: %q names no namespace; leave it out for all", namespaces)}
	}
	if o.leaseNamespace == "" {
		if o.leaseNamespace, _ = lookup("POD_NAMESPACE"); o.leaseNamespace != "" && len(validation.IsDNS1123Label(o.leaseNamespace)) > 0 {
			return o, usageError{fmt.Errorf("POD_NAMESPACE: %q is not a namespace", o.leaseNamespace)}
		}
	}
	o.sending = fromEnv(lookup)
	var ofEvents, ofJobs error
	o.controller.Events, ofEvents = eventsettings.FromEnv(lookup, eventsettings.JangarNames())
	o.controller.Retention, ofJobs = settings.FromEnv(lookup, settings.JangarNames())
	if err := errors.Join(ofEvents, ofJobs); err != nil {
		return o, usageError{errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return o, nil
}

// checkLease refuses values that client-go or the API server would refuse
// later.
func (o *options) checkLease() error {
	switch {
	case o.leaderElect && !o.reconcile:
		return errors.New("--leader-elect: there is nothing to elect a leader for with --reconcile=false; want one of the two")
	case len(validation.IsDNS1123Subdomain(o.leaseName)) > 0:
		return fmt.Errorf("--leader-elect-lease-name: %q is not a name of an object", o.leaseName)
	case o.leaseNamespace != "" && len(validation.IsDNS1123Label(o.leaseNamespace)) > 0:
		return fmt.Errorf("--leader-elect-lease-namespace: %q is not a namespace", o.leaseNamespace)
	case o.leaseDuration < 3*time.Second || o.leaseDuration > time.Hour || o.leaseDuration%time.Second != 0:
		return fmt.Errorf("--leader-elect-lease-duration: %s is not accepted; want whole seconds from 3s to 1h", o.leaseDuration)
	}
	return nil
}

// checkSelector refuses a selector that cannot be parsed, and settings under
// which two shards would wait for each other, or one would release the Jobs of
// all.
func (o *options) checkSelector() error {
	_, err := labels.Parse(o.controller.Selector)
	switch {
	case err != nil:
		return fmt.Errorf("--selector: %q is not a label selector: %w", o.controller.Selector, err)
	case o.controller.Selector == "":
		return nil
	case o.releaseHolds:
		return errors.New("--selector: --release-holds releases the Jobs of all runs in --namespaces; want it without --selector")
	case o.leaderElect && o.leaseName == defaultLeaseName:
		return errors.New("--selector: replicas of one lease wait for each other; want --leader-elect-lease-name with a name for this shard")
	}
	return nil
}
