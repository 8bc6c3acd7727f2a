// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command service is an existing service that adopts controllerkit and keeps
// its own mux, meter provider, logger and shutdown. It passes them to
// newReporter and runs Start. The packages do not listen, register or exit.
//
// It has no lease: each replica would report each failed Job. Run one, or add
// an election as examples/agentrun does.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	log := slog.New(tracelog.Handler(slog.NewJSONHandler(os.Stderr, nil)))
	err := run(ctx, log)
	stop()
	if err != nil {
		log.Error("Service ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules() // KUBECONFIG, or the cluster of this pod
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return err
	}
	cs, eventsClient, err := newClients(config)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":8080")
	if err != nil {
		return err
	}
	return serve(ctx, cs, eventsClient, l, log)
}

// newClients returns a client for Jobs and one for Events. Neither logs a
// warning of the API server with a credential.
func newClients(config *rest.Config) (cs, eventsClient kubernetes.Interface, err error) {
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = maskedWarnings{rest.WarningLogger{}}
	cs, err = kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	// A separate limiter: client-go's default of 5 requests a second delays Events.
	forEvents := rest.CopyConfig(config)
	forEvents.RateLimiter = nil
	forEvents.QPS = 20
	forEvents.Burst = 100
	eventsClient, err = kubernetes.NewForConfig(forEvents)
	return cs, eventsClient, err
}

// serve is the service. Only the lines about the reporter are new.
func serve(
	ctx context.Context, cs, eventsClient kubernetes.Interface, l net.Listener, log *slog.Logger,
) error {
	registry := prometheus.NewRegistry()
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry))
	if err != nil {
		return err
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	traces := sdktrace.NewTracerProvider()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       5 * time.Minute,
	}

	//nolint:contextcheck // a queue has no context
	reporter, err := newReporter(cs, eventsClient, meters, traces)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var reported, served error
	wg.Go(func() { reported = reporter.Start(logr.NewContextWithSlogLogger(ctx, log)) })

	wg.Go(func() {
		defer stop() // without its port the service ends
		served = server.Serve(l)
	})
	<-ctx.Done()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = server.Shutdown(closing)
	wg.Wait()
	if errors.Is(served, http.ErrServerClosed) {
		served = nil
	}
	return errors.Join(err, served, reported)
}
