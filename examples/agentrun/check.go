// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// check returns what is wrong with the flags, the first mistake only. It reads
// the list of namespaces.
func (o *options) check() error {
	checks := []func() error{
		o.checkFormats,
		o.checkLimits,
		o.checkLease,
		o.checkSelector,
		o.readNamespaces,
	}
	for _, check := range checks {
		err := check()
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *options) checkFormats() error {
	if o.logFormat != "json" && o.logFormat != "text" {
		return fmt.Errorf("--log-format: %q is not accepted; want json or text", o.logFormat)
	}
	if (o.certFile == "") != (o.keyFile == "") {
		return errors.New("--metrics-tls-cert-file, --metrics-tls-key-file: want both or neither")
	}
	return nil
}

func (o *options) checkLimits() error {
	accepted := o.qps > 0 && o.qps <= 1e6 // NaN is not
	if !accepted {
		return fmt.Errorf("--kube-api-qps: %v is not accepted; want more than 0, at most 1000000", o.qps)
	}
	if o.burst < 1 {
		return fmt.Errorf("--kube-api-burst: %d is not accepted; want at least 1", o.burst)
	}
	if o.controller.Workers < 1 {
		return fmt.Errorf("--workers: %d is not accepted; want at least 1", o.controller.Workers)
	}
	return nil
}

// checkLease refuses values that client-go or the API server would refuse
// later.
func (o *options) checkLease() error {
	if o.leaderElect && !o.reconcile {
		return errors.New("--leader-elect: there is nothing to elect a leader for with --reconcile=false; " +
			"want one of the two")
	}
	if len(validation.IsDNS1123Subdomain(o.leaseName)) > 0 {
		return fmt.Errorf("--leader-elect-lease-name: %q is not a name of an object", o.leaseName)
	}
	if o.leaseNamespace != "" && !isNamespace(o.leaseNamespace) {
		return fmt.Errorf("--leader-elect-lease-namespace: %q is not a namespace", o.leaseNamespace)
	}
	inRange := 3*time.Second <= o.leaseDuration && o.leaseDuration <= time.Hour
	if !inRange || o.leaseDuration%time.Second != 0 {
		const text = "--leader-elect-lease-duration: %s is not accepted; want whole seconds from 3s to 1h"
		return fmt.Errorf(text, o.leaseDuration)
	}
	return nil
}

// checkSelector refuses a selector that cannot be parsed, and settings under
// which two shards would wait for each other, or one would release the Jobs of
// all.
func (o *options) checkSelector() error {
	_, err := labels.Parse(o.controller.Selector)
	if err != nil {
		return fmt.Errorf("--selector: %q is not a label selector: %w", o.controller.Selector, err)
	}
	if o.controller.Selector == "" {
		return nil
	}
	if o.releaseHolds {
		return errors.New("--selector: --release-holds releases the Jobs of all runs in --namespaces; " +
			"want it without --selector")
	}
	if o.leaderElect && o.leaseName == defaultLeaseName {
		return errors.New("--selector: replicas of one lease wait for each other; " +
			"want --leader-elect-lease-name with a name for this shard")
	}
	return nil
}

// readNamespaces splits the list of --namespaces.
func (o *options) readNamespaces() error {
	for name := range strings.SplitSeq(o.namespaces, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		wrong := validation.IsDNS1123Label(name)
		if len(wrong) > 0 {
			return fmt.Errorf("--namespaces: %q is not a namespace: %s", name, wrong[0])
		}
		if slices.Contains(o.controller.Namespaces, name) {
			return fmt.Errorf("--namespaces: %q is there twice; want each once", name)
		}
		o.controller.Namespaces = append(o.controller.Namespaces, name)
	}
	if o.namespaces != "" && len(o.controller.Namespaces) == 0 {
		return fmt.Errorf("--namespaces: %q names no namespace; leave it out for all", o.namespaces)
	}
	return nil
}

func isNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }
