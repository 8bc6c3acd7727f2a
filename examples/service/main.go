// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command service is a service that runs Reports as Jobs, on client-go alone.
// It composes the five packages, and keeps its own mux, logger and signals.
//
//	kubectl apply -f examples/service/crd.yaml -f examples/service/role.yaml
//	go run ./examples/service
//	kubectl apply -f examples/service/report.yaml
//
// It finds the cluster as kubectl does, or is a pod of it. With -manifest it
// prints its Deployment and ends, with -canary too a Rollout in its place.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
	"github.com/proompteng/controllerkit/rollout"
)

func main() {
	address := flag.String("listen", ":8080", "`address` of the service")
	namespace := flag.String("namespace", "reports", "`namespace` of the lease")
	printing := flag.Bool("manifest", false, "print the Deployment and end")
	canary := flag.Bool("canary", false, "print a Rollout in place of the Deployment")
	flag.Parse()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	if *printing {
		err = manifest(os.Stdout, *canary)
	} else {
		err = run(logr.NewContextWithSlogLogger(ctx, log), *address, *namespace)
	}
	stop()
	if err != nil {
		log.Error("Service ended", "error", redact.Text(err.Error()))
		os.Exit(1)
	}
}

func run(ctx context.Context, address, namespace string) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules() // KUBECONFIG, or the cluster of this pod
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("Listening", "address", l.Addr().String())
	return serve(ctx, config, namespace, l)
}

// serve runs the service until ctx ends, or a part of it fails. It returns when
// everything it started has ended and the last Events are written. It logs to
// the logger in ctx.
func serve(ctx context.Context, config *rest.Config, namespace string, l net.Listener) error {
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return err
	}
	m, err := metrics.New(endpoint, metrics.Options{IsTerminal: events.IsTerminal})
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS = 50 // client-go's 5 a second are for commands
	config.Burst = 100
	// The API server ends each watch within 10 minutes. A watch that hangs ends
	// after 11.
	config.Timeout = 11 * time.Minute
	config.WarningHandlerWithContext = maskedWarnings{rest.WarningLogger{}}
	config.Wrap(kube.Transport(m))
	c, err := newController(config, m)
	if err != nil {
		return err
	}
	defer c.queue.ShutDown()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", endpoint)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.synced() {
			http.Error(w, "the caches have not synced", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	var served error
	running.Go(func() {
		defer stop() // without its port the service ends
		served = server.Serve(l)
	})
	// The Recorder is around the election: it writes the Events of the last
	// reconciles after they have ended.
	err = c.events.RunWith(ctx, func(ctx context.Context) error {
		defer stop()                          // without the lease the service ends
		kube.NewCache(m, "reports", c.cached) // its age shows a cache that gets nothing
		kube.NewCache(m, "jobs", c.ofJobs)
		running.Go(func() { c.cached.RunWithContext(ctx) })
		running.Go(func() { c.ofJobs.RunWithContext(ctx) })
		return lead(ctx, config, namespace, m, c.work)
	})
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(closing))
	running.Wait()
	if errors.Is(served, http.ErrServerClosed) {
		return err
	}
	return errors.Join(err, served)
}

//go:embed deployment.yaml
var deployment []byte

// manifest prints the Deployment of the service, or its canary.
func manifest(w io.Writer, canary bool) error {
	var d appsv1.Deployment
	err := yaml.UnmarshalStrict(deployment, &d)
	if err != nil {
		return err
	}
	obj, err := rollout.Render(&d, canary, rollout.Options{})
	if err != nil {
		return err
	}
	out, err := yaml.Marshal(obj)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}
