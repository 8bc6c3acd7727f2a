// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/settings"
)

const manifestsIntro = `agentrun manifests prints the workload that runs agentrun in a cluster: a
Deployment, or its canary of Argo Rollouts. It is the workload of examples/chart.
The CustomResourceDefinition, the ServiceAccount and its roles are not printed.

Usage: agentrun manifests [flags] [-- more flags of agentrun for the container]

Flags:
`

const manifestsEnvironment = `
Environment:
  JANGAR_PROGRESSIVE_DELIVERY_ENABLED
        print a canary: 1 t true yes on, or 0 f false no off (default false)
  JANGAR_PROGRESSIVE_DELIVERY_PROVIDER
        argo-rollouts, the only one
  JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS
        steps as a JSON list (default [{"setWeight":20},{"pause":{}}])

The container gets the other JANGAR_ variables of agentrun --help, from this
environment or with their defaults.
`

// manifests runs "agentrun manifests".
func manifests(args []string, lookup func(string) (string, bool), stdout io.Writer) error {
	w, err := parseManifests(args, lookup, stdout)
	if err != nil {
		return err
	}
	obj, err := rollout.Render(w.deployment(), w.canary.Enabled, w.canary.Options)
	if err != nil {
		return usageError{oneLine(err)}
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	var tree map[string]any
	err = json.Unmarshal(data, &tree)
	if err != nil {
		return err
	}
	delete(tree, "status") // the server's
	data, err = yaml.Marshal(tree)
	if err != nil {
		return err
	}
	_, err = stdout.Write(data)
	return err
}

// parseManifests reads the flags and the environment of "agentrun manifests".
// The container's arguments and variables are read by parse too, so the
// container of a printed workload starts.
func parseManifests(args []string, lookup func(string) (string, bool), help io.Writer) (workload, error) {
	var w workload
	flags := w.flags()
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, manifestsIntro)
		flags.SetOutput(help)
		flags.PrintDefaults()
		fmt.Fprint(help, manifestsEnvironment)
		return w, err
	}
	if err != nil {
		return w, usageError{fmt.Errorf("%w; see agentrun manifests --help", err)}
	}
	w.more = flags.Args()
	w.variables = variables(lookup)
	w.canary, err = settings.FromEnv(lookup, settings.JangarNames())
	if err != nil {
		return w, usageError{oneLine(err)}
	}
	if w.switched != nil {
		w.canary.Enabled = *w.switched
	}
	err = w.check()
	if err != nil {
		return w, usageError{err}
	}
	_, err = parse(w.args(), lookup, io.Discard)
	if errors.Is(err, flag.ErrHelp) {
		err = usageError{errors.New("--help: the container would only print its help")}
	}
	return w, err
}

// flags returns the flags of "agentrun manifests", which set w.
func (w *workload) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("agentrun manifests", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // parseManifests returns the errors and prints the help
	flags.StringVar(&w.release, "release", "agentrun",
		"`name` that the workload's name begins with, as of a Helm release")
	flags.StringVar(&w.namespace, "namespace", "default", "`namespace` of the workload")
	flags.StringVar(&w.image, "image", "agentrun:"+appVersion, "container `image`")
	flags.IntVar(&w.replicas, "replicas", 2, "`number` of pods")
	flags.BoolFunc("progressive-delivery",
		"print a canary; wins over JANGAR_PROGRESSIVE_DELIVERY_ENABLED", w.setProgressiveDelivery)
	flags.IntVar(&w.workers, "workers", 4, "`number` of concurrent reconciles")
	flags.StringVar(&w.namespaces, "namespaces", "",
		"comma-separated `list` of namespaces to work in; empty means the namespace of --namespace")
	flags.BoolVar(&w.allNamespaces, "all-namespaces", false,
		"work in all namespaces, which takes a ClusterRole that reads every Secret")
	flags.StringVar(&w.logFormat, "log-format", "json", "`format` of the log, json or text")
	flags.BoolVar(&w.leaderElect, "leader-elect", true, "one pod reconciles at a time")
	flags.DurationVar(&w.leaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"how long a lease lasts without a renewal")
	return flags
}

func (w *workload) setProgressiveDelivery(value string) error {
	enabled, err := strconv.ParseBool(value)
	w.switched = &enabled
	return err
}

// check refuses what neither parse nor package rollout sees.
func (w *workload) check() error {
	const longest = 40 // the names of the chart's other objects begin with it too
	switch {
	case len(w.release) > longest, len(validation.IsDNS1123Label(w.release)) > 0:
		const text = "--release: %q is not accepted; want a DNS label of at most %d characters"
		return fmt.Errorf(text, w.release, longest)
	case !isNamespace(w.namespace):
		return fmt.Errorf("--namespace: %q is not a namespace", w.namespace)
	case w.allNamespaces && w.namespaces != "":
		return errors.New("--all-namespaces: want it without --namespaces")
	case w.image == "":
		return errors.New("--image: want the container image")
	case w.replicas < 1 || w.replicas > 1000:
		return fmt.Errorf("--replicas: %d is not accepted; want 1 to 1000", w.replicas)
	case !w.leaderElect && (w.replicas > 1 || w.canary.Enabled):
		return errors.New("--leader-elect: one pod alone may reconcile without it; " +
			"want --replicas=1 and no canary")
	}
	return nil
}

// oneLine joins the lines of an error.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}
