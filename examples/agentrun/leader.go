// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
)

// election decides which replica reconciles. The others wait, and fill no
// cache.
type election struct {
	lock     *resourcelock.LeaseLock
	duration time.Duration
	metrics  *metrics.Metrics
}

// newElection returns an election. It sends no request.
func newElection(config *rest.Config, m *metrics.Metrics, o options) (*election, error) {
	config = rest.CopyConfig(config)
	config.Timeout = leaseTimeout(o.leaseDuration)
	config.Wrap(kube.Transport(m))
	instance := o.controller.Events.Instance
	if instance == "" {
		instance, _ = os.Hostname() // the identity is unique without it
	}
	identity := instance + "_" + string(uuid.NewUUID())
	// A separate rate limiter: reconciles must not delay the renewal.
	cluster, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &election{
		lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.leaseNamespace, Name: o.leaseName},
			Client:     cluster.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		duration: o.leaseDuration,
		metrics:  m,
	}, nil
}

// The proportions follow the defaults of client-go and controller-runtime: a
// lease of 15 seconds, a deadline of 10, a retry after 2, and 5 for a request.
func renewDeadline(lease time.Duration) time.Duration { return lease * 2 / 3 }
func retryPeriod(lease time.Duration) time.Duration   { return lease * 2 / 15 }

// leaseTimeout is how long one request may take. The release of the lease takes
// two, and the pod has to end.
func leaseTimeout(lease time.Duration) time.Duration {
	return min(renewDeadline(lease)/2, 5*time.Second)
}

var errNotLeading = errors.New("this replica no longer leads")

// lead waits for the lease and runs reconcile while it holds the lease. It
// releases the lease only after reconcile has returned, so that no other
// replica leads before that. A lost lease ends reconcile and is an error: the
// process restarts.
//
//nolint:contextcheck // holding is client-go's, and no parent of leading
func (e *election) lead(ctx context.Context, reconcile func(leading, holding context.Context)) error {
	log := logr.FromContextOrDiscard(ctx).
		WithValues("lease", e.lock.Describe(), "identity", e.lock.Identity())
	elected := make(chan context.Context, 1)
	started, stopped := kube.Callbacks(e.metrics, e.lock.LeaseMeta.Name,
		func(holding context.Context) { elected <- holding }, func() {})
	// Without ReleaseOnCancel, because client-go ends the context of a leader
	// that lost its lease only after it has tried to release the lease, and may
	// release that of the next leader.
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          e.lock,
		LeaseDuration: e.duration,
		RenewDeadline: renewDeadline(e.duration),
		RetryPeriod:   retryPeriod(e.duration),
		Name:          e.lock.LeaseMeta.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: started,
			OnStoppedLeading: stopped,
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	// The lease is renewed until reconcile has returned.
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { elector.Run(electing) })
	defer running.Wait()
	defer stop()

	log.Info("Waiting for the lease")
	var began context.Context
	select {
	case <-ctx.Done():
		return nil
	case began = <-elected:
	}
	log.Info("Leading")
	holding, lose := context.WithCancel(began)
	defer lose()
	running.Go(func() {
		// client-go tries for some time to renew a lease that another replica
		// has, as after this process was frozen.
		replaced := func(context.Context) (bool, error) { return !elector.IsLeader(), nil }
		_ = wait.PollUntilContextCancel(holding, e.duration/15, true, replaced)
		lose()
	})
	leading, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(holding, end)() //nolint:contextcheck // client-go's, and no parent of leading
	reconcile(leading, holding)
	if holding.Err() != nil {
		const text = "leader election: the lease %s was not renewed in time, another replica may hold it: %w"
		return fmt.Errorf(text, e.lock.Describe(), errNotLeading)
	}
	lose()
	stop()
	running.Wait()
	err = e.release(context.WithoutCancel(ctx))
	if err != nil {
		log.Error(err, "Lease not released, it expires")
	}
	return nil
}

// release lets another replica lead without waiting for the end of the lease.
func (e *election) release(ctx context.Context) error {
	record, _, err := e.lock.Get(ctx)
	if err != nil {
		return err
	}
	if record.HolderIdentity != e.lock.Identity() {
		return errNotLeading
	}
	record.HolderIdentity = ""
	return e.lock.Update(ctx, *record)
}
