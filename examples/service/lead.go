// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
)

const lease = "reports"

// lead waits for the lease and runs work while this replica holds it. It
// returns when work has returned, because ctx ended or the lease was lost.
//
// The lease is not released at the end: client-go would release it while work
// still runs. The next replica leads 15 seconds later.
func lead(
	ctx context.Context, config *rest.Config, namespace string, m *metrics.Metrics,
	work func(context.Context),
) error {
	config = rest.CopyConfig(config)
	config.Timeout = 5 * time.Second                // a renewal that hangs is tried again before the deadline
	cluster, err := kubernetes.NewForConfig(config) // reconciles do not use up its rate limit
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	leading := make(chan context.Context, 1)
	started, stopped, err := kube.Callbacks(m, lease, func(ctx context.Context) { leading <- ctx }, func() {})
	if err != nil {
		return err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: lease},
			Client:     cluster.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,
		Name:          lease,
		Callbacks:     leaderelection.LeaderCallbacks{OnStartedLeading: started, OnStoppedLeading: stopped},
	})
	if err != nil {
		return err
	}
	var electing sync.WaitGroup
	electing.Go(func() { elector.Run(ctx) })
	select {
	case <-ctx.Done():
	case ctxOfLease := <-leading: // ends with ctx, or when the lease is lost
		work(ctxOfLease) //nolint:contextcheck // client-go has made it from ctx
	}
	electing.Wait()
	if ctx.Err() == nil {
		return errors.New("the lease was not renewed in time, another replica may lead")
	}
	return nil
}
