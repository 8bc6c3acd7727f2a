// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command unstructured is a controller of a foreign CRD on client-go's dynamic
// client. It has no Go types and no generated code, and uses the CRD's field
// names. It finds the cluster as kubectl does, or is a pod of it:
//
//	kubectl apply -f examples/unstructured/crd.yaml && go run ./examples/unstructured
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/proompteng/controllerkit/events"
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
	rules := clientcmd.NewDefaultClientConfigLoadingRules() // KUBECONFIG, or the cluster of this pod
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return err
	}
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return err
	}
	m, err := metrics.New(endpoint, metrics.Options{IsTerminal: events.IsTerminal})
	if err != nil {
		return err
	}
	config.Wrap(kube.Transport(m))
	clients, err := newClients(config)
	if err != nil {
		return err
	}
	c, err := backup.New(clients.dynamic, clients.cluster, clients.events, m)
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
		served = serve(ctx, l, endpoint, c.Synced)
	})
	err = c.Start(ctx)
	wg.Wait()
	return errors.Join(err, served)
}

// clients are those of the controller.
type clients struct {
	dynamic dynamic.Interface
	cluster kubernetes.Interface
	events  kubernetes.Interface
}

// watchTimeout ends a watch that is dead. The API server ends one after 5 to 10
// minutes, but it or a proxy may accept a watch and then never send or close
// anything.
const watchTimeout = 11 * time.Minute

// newClients returns clients that log no warning of the API server with a
// credential.
func newClients(config *rest.Config) (c clients, err error) {
	config = rest.CopyConfig(config)
	config.Timeout = watchTimeout
	config.WarningHandlerWithContext = maskedWarnings{rest.WarningLogger{}}
	c.dynamic, err = dynamic.NewForConfig(config)
	if err != nil {
		return clients{}, err
	}
	c.cluster, err = kubernetes.NewForConfig(config)
	if err != nil {
		return clients{}, err
	}
	// A separate limiter: client-go's default of 5 requests a second delays Events.
	forEvents := rest.CopyConfig(config)
	forEvents.RateLimiter = nil
	forEvents.QPS = 20
	forEvents.Burst = 100
	c.events, err = kubernetes.NewForConfig(forEvents)
	return c, err
}

// serve answers /metrics, /healthz (the process lives) and /readyz (it has read
// what it watches) until ctx ends.
func serve(ctx context.Context, l net.Listener, endpoint http.Handler, synced func() bool) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", endpoint)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !synced() {
			http.Error(w, "the caches have not synced", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       5 * time.Minute,
	}
	stopping := context.AfterFunc(ctx, func() { _ = server.Close() }) // a scrape that is cut off comes again
	defer stopping()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
