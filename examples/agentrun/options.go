// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	eventsettings "github.com/proompteng/controllerkit/events/settings"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/jobgc/settings"
)

// options are the program's settings: its flags, and the packages' settings
// from the environment.
type options struct {
	kubeconfig, context string
	namespaces          string // the list of --namespaces
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
       agentrun manifests FILE   print the Deployment in a file, or its canary of Argo Rollouts

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
        otlp or console: export a span for each reconcile; metrics then have exemplars, ` +
	`and log lines trace_id and span_id (default none;
        needs a program that is built with -tags=otlp, as the two below)
  OTEL_METRICS_EXPORTER
        otlp or console: export the metrics in addition to the endpoint (default none)
  OTEL_EXPORTER_OTLP_ENDPOINT
        the address for otlp (default http://localhost:4318); ` +
	`the other standard variables of OpenTelemetry work too
  KUBECONFIG
        kubeconfig files, as for kubectl, if --kubeconfig is not set
`

// parse reads the command line and the environment. A mistake is a usageError
// of one line.
func parse(args []string, lookup func(string) (string, bool), help io.Writer) (options, error) {
	var o options
	flags := o.flags()
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, intro)
		flags.SetOutput(help)
		flags.PrintDefaults()
		fmt.Fprint(help, environment)
		return o, err
	}
	if err != nil {
		return o, usageError{fmt.Errorf("%w; see --help", err)}
	}
	if flags.NArg() > 0 {
		const text = "unexpected argument %q; every setting is a flag, see --help"
		return o, usageError{fmt.Errorf(text, flags.Arg(0))}
	}
	err = o.check()
	if err != nil {
		return o, usageError{err}
	}
	err = o.readEnvironment(lookup)
	if err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// readEnvironment reads the settings that are variables.
func (o *options) readEnvironment(lookup func(string) (string, bool)) error {
	if o.leaseNamespace == "" {
		o.leaseNamespace, _ = lookup("POD_NAMESPACE")
	}
	if o.leaseNamespace != "" && !isNamespace(o.leaseNamespace) {
		return fmt.Errorf("POD_NAMESPACE: %q is not a namespace", o.leaseNamespace)
	}
	o.sending = fromEnv(lookup)
	var ofEvents, ofJobs error
	o.controller.Events, ofEvents = eventsettings.FromEnv(lookup, eventsettings.JangarNames())
	o.controller.Retention, ofJobs = settings.FromEnv(lookup, settings.JangarNames())
	err := errors.Join(ofEvents, ofJobs)
	if err != nil {
		return oneLine(err)
	}
	return nil
}
