// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"io"
	"time"
)

// flags returns the flags of the program, which set o.
func (o *options) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("agentrun", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // parse returns the errors and prints the help
	o.clusterFlags(flags)
	o.workFlags(flags)
	o.leaseFlags(flags)
	o.processFlags(flags)
	return flags
}

func (o *options) clusterFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"kubeconfig `file`; empty means KUBECONFIG, then the default, then the service account of the pod")
	flags.StringVar(&o.context, "context", "",
		"`name` of the kubeconfig context; empty means the current one")
	flags.Float64Var(&o.qps, "kube-api-qps", 100,
		"`requests` a second to the API server, at most, over time")
	flags.IntVar(&o.burst, "kube-api-burst", 200, "`requests` in a burst, at most")
}

func (o *options) workFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.namespaces, "namespaces", "",
		"comma-separated `list` of namespaces to work in; empty means all")
	flags.StringVar(&o.controller.Selector, "selector", "",
		"label `selector` of the runs to work on, such as shard=a or 'shard notin (a,b)'; "+
			"empty means all. Other replicas handle the rest")
	flags.IntVar(&o.controller.Workers, "workers", 4,
		"`number` of concurrent reconciles; one namespace gets at most half of them")
	flags.BoolVar(&o.reconcile, "reconcile", true,
		"false only serves the endpoint and sends no request to the cluster")
	flags.BoolVar(&o.controller.Hold, "hold-jobs", false,
		"keep each Job until its result is recorded, by a finalizer; "+
			"run --release-holds before you remove the controller (default false)")
	flags.BoolVar(&o.releaseHolds, "release-holds", false,
		"remove the finalizer of --hold-jobs from every Job in --namespaces and exit; "+
			"stop the controller first")
}

func (o *options) leaseFlags(flags *flag.FlagSet) {
	flags.BoolVar(&o.leaderElect, "leader-elect", false,
		"reconcile only while holding the lease, so that several replicas can run (default false)")
	flags.StringVar(&o.leaseName, "leader-elect-lease-name", defaultLeaseName, "`name` of the lease")
	flags.StringVar(&o.leaseNamespace, "leader-elect-lease-namespace", "",
		"`namespace` of the lease; empty means POD_NAMESPACE, "+
			"then the namespace of the kubeconfig context or of the pod")
	flags.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"how long a lease lasts without a renewal, in whole seconds; "+
			"after it another replica replaces a dead leader")
}

func (o *options) processFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", "127.0.0.1:8080",
		"`address` that serves /metrics, /healthz and /readyz; port 0 picks a free one")
	flags.StringVar(&o.certFile, "metrics-tls-cert-file", "",
		"`file` with the endpoint's certificate, in PEM; empty means plain HTTP")
	flags.StringVar(&o.keyFile, "metrics-tls-key-file", "", "`file` with the certificate's key")
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of the log, json or text")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
}
