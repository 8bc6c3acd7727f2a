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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
)

// election decides which replica reconciles. The others keep their caches
// filled and are ready.
type election struct {
	lock     *lock
	duration time.Duration
	metrics  *metrics.Metrics
}

// newElection returns an election. It sends no request.
func newElection(config *rest.Config, m *metrics.Metrics, o options) (*election, error) {
	config = rest.CopyConfig(config)
	config.Timeout = renewTimeout(o.leaseDuration)
	config.Wrap(kube.Transport(m))
	instance := o.controller.Events.Instance
	if instance == "" {
		instance, _ = os.Hostname() // the identity is unique without it
	}
	cluster, err := kubernetes.NewForConfig(config) // a separate rate limiter: reconciles must not delay the renewal
	if err != nil {
		return nil, err
	}
	return &election{
		lock: &lock{
			LeaseLock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: o.leaseNamespace, Name: o.leaseName},
				Client:     cluster.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: instance + "_" + string(uuid.NewUUID())},
			},
			every: renewPeriod(o.leaseDuration) - retryPeriod(o.leaseDuration),
		},
		duration: o.leaseDuration,
		metrics:  m,
	}, nil
}

// The proportions follow kube-controller-manager's defaults: 15, 10 and 2
// seconds. A leader stops before another can take the lease. In the worst case
// the last renewal was stored immediately and answered after the timeout, and
// the next one began a renew period later and ended at the deadline. The three
// together are 29/30 of the lease.
func renewDeadline(lease time.Duration) time.Duration { return lease * 2 / 3 }
func renewPeriod(lease time.Duration) time.Duration   { return lease * 2 / 15 }
func renewTimeout(lease time.Duration) time.Duration  { return lease / 6 }

// retryPeriod is how often a waiting replica asks for the lease. client-go
// waits up to 2.2 times as long. The replica sees the last renewal that late
// and the end of the lease that late: a killed leader is replaced within the
// lease and 2.2 seconds, a stopped one within 1.1 seconds.
func retryPeriod(lease time.Duration) time.Duration {
	return min(renewPeriod(lease), 500*time.Millisecond)
}

// lock is a lease that its leader renews less often than client-go tries to.
// client-go has one period for the leader and for waiting replicas.
type lock struct {
	*resourcelock.LeaseLock

	every  time.Duration // a renewal that comes sooner is skipped
	stored time.Time     // when the last one was answered
	tried  bool          // a write that takes the lease was sent; it may be stored although no answer came
}

// Create creates the Lease with this replica as its holder.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.tried = true
	return l.LeaseLock.Create(ctx, record)
}

// Update stores the record, unless it is a renewal that comes too soon.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == l.Identity() && time.Since(l.stored) < l.every {
		return nil
	}
	l.tried = true
	err := l.LeaseLock.Update(ctx, record)
	if err == nil {
		l.stored = time.Now()
	}
	return err
}

// releasing limits how long a server that does not answer can delay the end of
// the process.
const releasing = 2 * time.Second

var errDeposed = errors.New("this replica no longer leads")

// lead waits for the lease and runs reconcile while it holds the lease. It
// releases the lease only after reconcile has returned, so that two leaders
// never run at the same time. A lost lease ends reconcile and is an error: the
// process restarts.
func (e *election) lead(ctx context.Context, reconcile func(leading, holding context.Context)) error {
	log := logr.FromContextOrDiscard(ctx).WithValues("lease", e.lock.Describe(), "identity", e.lock.Identity())
	electing, stop := context.WithCancel(context.WithoutCancel(ctx)) // the lease is renewed until reconcile has returned
	defer stop()
	elected := make(chan context.Context, 1)
	started, stopped := kube.Callbacks(e.metrics, e.lock.LeaseMeta.Name,
		func(holding context.Context) { elected <- holding }, func() {})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          e.lock,
		LeaseDuration: e.duration,
		RenewDeadline: renewDeadline(e.duration),
		RetryPeriod:   retryPeriod(e.duration),
		Name:          e.lock.LeaseMeta.Name,
		Callbacks:     leaderelection.LeaderCallbacks{OnStartedLeading: started, OnStoppedLeading: stopped},
		// Not ReleaseOnCancel: client-go reports a lost lease only after an
		// attempt to release it, when another replica may already hold it.
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	var running sync.WaitGroup
	running.Go(func() { elector.Run(electing) })
	defer func() {
		stop()
		running.Wait()
		if e.lock.tried {
			e.release(ctx)
		}
	}()

	log.Info("waiting for the lease")
	var holding context.Context
	select {
	case <-ctx.Done():
		return nil
	case holding = <-elected:
	}
	log.Info("leading")
	leading, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(holding, end)() //nolint:contextcheck // holding is client-go's, and no parent of leading
	reconcile(leading, holding)
	if holding.Err() != nil {
		return fmt.Errorf("leader election: the lease %s was not renewed in time, another replica may hold it: %w", e.lock.Describe(), errDeposed)
	}
	return nil
}

// release frees the lease immediately if this replica still holds it. If that
// fails, the next leader waits until the lease expires.
func (e *election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasing)
	defer cancel()
	for {
		held, _, err := e.lock.Get(ctx)
		if err == nil && held.HolderIdentity != e.lock.Identity() || apierrors.IsNotFound(err) {
			return
		}
		if err == nil {
			now := metav1.Now()
			err = e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
				LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: held.LeaderTransitions,
			})
		}
		if apierrors.IsConflict(err) {
			continue // an interrupted renewal was stored nevertheless
		}
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "the lease is not released, and ends by itself", "lease", e.lock.Describe())
		}
		return
	}
}
