// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc/expire"
	"github.com/proompteng/controllerkit/jobgc/hold"
)

// HoldFinalizer is the finalizer of Options.Hold.
const HoldFinalizer = "agents.controllerkit.dev/result"

// sweepEvery is how often runs are looked through for those that are past their retention. It costs no request.
const sweepEvery = 10 * time.Second

func (c *Controller) holdFinalizer() string {
	if c.options.Hold {
		return HoldFinalizer
	}
	return ""
}

// sweep deletes what is past its retention, and releases what nobody else will, until ctx ends.
func (c *Controller) sweep(ctx context.Context, running *sync.WaitGroup) {
	log := logr.FromContextOrDiscard(ctx)
	start := func(s interface {
		Start(ctx context.Context) error
	}, err error,
	) {
		if err != nil {
			log.Error(err, "a sweep cannot start")
			return
		}
		running.Go(func() { _ = s.Start(ctx) }) // ends with ctx
	}
	for _, s := range c.scopes {
		start(expire.New(c.runs, s.runs.GetStore().List, finished, c.options.Retention, expire.Options{Every: sweepEvery}))
		if c.options.Hold {
			start(newHolds(c.config, s.namespace, c.options.OnHolds))
		}
	}
}

// finished is when a run has ended, and how long it is to stay by itself.
func finished(run *v1alpha1.AgentRun) (at time.Time, own *int32) {
	return value(run.Status.FinishedAt).Time, run.Spec.TTLSecondsAfterFinished
}

// newHolds makes the sweep of the Jobs that are held in a namespace, or in all.
func newHolds(
	config *rest.Config, namespace string, observe func(namespace string, held int, oldest time.Duration),
) (*hold.Sweeper[metadata.ResourceInterface, metadata.ResourceInterface], error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	o := hold.Options{Namespace: namespace, Selector: runLabel}
	if observe != nil {
		o.Observe = func(held int, oldest time.Duration) { observe(namespace, held, oldest) }
	}
	return hold.New(
		client.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace,
		client.Resource(v1alpha1.GroupVersion().WithResource("agentruns")).Namespace,
		HoldFinalizer, o,
	)
}

// ReleaseHolds takes the finalizer of Options.Hold off every Job in the namespaces; none means all. It is the step before the
// controller is removed, and after Options.Hold is turned off; stop the controller before. It may be called again.
func ReleaseHolds(ctx context.Context, config *rest.Config, namespaces ...string) (released int, err error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		s, err := newHolds(config, namespace, nil)
		if err != nil {
			return released, err
		}
		report, err := s.ReleaseAll(ctx)
		if released += report.Released; err != nil {
			return released, fmt.Errorf("%d Jobs are held still: %w", report.Held, err)
		}
	}
	return released, nil
}
