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
	"github.com/proompteng/controllerkit/jobgc/hold"
)

// HoldFinalizer is the finalizer of Options.Hold.
const HoldFinalizer = "agents.controllerkit.dev/result"

// sweepEvery is the interval of the search for runs past their retention. The
// search sends no request.
const sweepEvery = 10 * time.Second

func (c *Controller) holdFinalizer() string {
	if c.options.Hold {
		return HoldFinalizer
	}
	return ""
}

// sweep deletes runs past their retention and releases held Jobs of deleted
// runs, until ctx ends.
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
		start(s.expired, nil)
		if c.options.Hold {
			start(newHolds(c.config, s.namespace, c.options.OnHolds))
		}
	}
}

// finished returns when a run ended, and its own retention.
func finished(run *v1alpha1.AgentRun) (at time.Time, own *int32) {
	return value(run.Status.FinishedAt).Time, run.Spec.TTLSecondsAfterFinished
}

// newHolds returns a sweeper of the held Jobs in one namespace or in all.
func newHolds(
	config *rest.Config, namespace string, observe func(namespace string, held int, oldest time.Duration),
) (*hold.Sweeper[metadata.ResourceInterface, metadata.ResourceInterface], error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	o := hold.Options{Namespace: namespace, Selector: runLabel}
	if observe != nil {
		o.OnSweep = func(held int, oldest time.Duration) { observe(namespace, held, oldest) }
	}
	return hold.New(
		client.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace,
		client.Resource(v1alpha1.GroupVersion().WithResource("agentruns")).Namespace,
		HoldFinalizer, o,
	)
}

// ReleaseHolds removes the finalizer of Options.Hold from every Job in the
// namespaces; none means all. Stop the controller, then call ReleaseHolds
// before you remove the controller and after you disable Options.Hold. You can
// call it again.
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
