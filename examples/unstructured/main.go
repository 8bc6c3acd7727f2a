// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command unstructured is a controller of a foreign CRD on client-go's dynamic
// client. It has no Go types and no generated code, and uses the CRD's field
// names.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/unstructured/backup"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "unstructured:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return err
	}
	m, err := metrics.New(endpoint, metrics.Options{})
	if err != nil {
		return err
	}
	config.Wrap(kube.Transport(m))
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	cs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	forEvents := rest.CopyConfig(config) // a separate limiter; client-go's default of 5 requests a second delays Events
	forEvents.RateLimiter, forEvents.QPS, forEvents.Burst = nil, 20, 100
	eventsClient, err := kubernetes.NewForConfig(forEvents)
	if err != nil {
		return err
	}
	c, err := backup.New(dyn, cs, eventsClient, m) //nolint:contextcheck // a queue has no context
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":8080")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var served error
	wg.Go(func() {
		defer stop() // without its port the program ends
		served = endpoint.Serve(ctx, l)
	})
	err = c.Start(ctx)
	wg.Wait()
	return errors.Join(err, served)
}
