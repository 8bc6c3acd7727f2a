// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command main is a manager from kubebuilder's scaffold with controllerkit. See
// internal/controller.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/examples/controller-runtime/internal/controller"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func main() {
	options := ctrl.Options{LeaderElectionID: "tasks.controllerkit.dev"}
	flag.StringVar(&options.Metrics.BindAddress, "metrics-bind-address", ":8443",
		"`address` that serves /metrics; 0 serves none")
	flag.BoolVar(&options.Metrics.SecureServing, "metrics-secure", true,
		"serve metrics by HTTPS, to clients that may get them")
	flag.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"`address` that serves /healthz and /readyz")
	flag.BoolVar(&options.LeaderElection, "leader-elect", false, "let one replica at a time reconcile")
	flag.Parse()

	ctrl.SetLogger(zap.New())
	config, err := ctrl.GetConfig()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config, options)
	}
	if err != nil {
		ctrl.Log.Error(err, "Manager ended")
		os.Exit(1)
	}
}

// run runs the manager until ctx ends.
func run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	// Three lines, marked +manager, give the instruments and serve them with
	// controller-runtime's metrics, on its server with its TLS, authorization
	// and port. Nothing is registered in a global variable, so that a process
	// may run a second manager.
	endpoint, err := prom.New(prom.Options{Gatherers: []prometheus.Gatherer{crmetrics.Registry}}) // +manager
	if err != nil {
		return err
	}
	m, err := metrics.New(endpoint, metrics.Options{}) // +manager
	if err != nil {
		return err
	}
	options.Metrics.ExtraHandlers = map[string]http.Handler{"/metrics/all": endpoint} // +manager
	config.Wrap(kube.Transport(m))                                                    // +metrics/kube
	logged := log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{})          // +events/redact
	config.WarningHandlerWithContext = maskedWarnings{logged}                         // +events/redact

	// With controller-runtime v0.25, add the next line. A cached read then waits
	// for this client's earlier writes, so that no reconcile starts from a copy
	// older than its own last write.
	//
	//	options.Client.Cache = &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}

	protect(&options.Metrics)
	stopInTime(&options)
	options.Scheme = runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(options.Scheme); err != nil {
		return err
	}
	if err := v1.AddToScheme(options.Scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	err = mgr.Add(kube.NewLeaderRunnable(m, options.LeaderElectionID)) // +metrics/kube
	if err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("readyz", synced(mgr.GetCache())); err != nil {
		return err
	}
	recorder, err := controller.SetupWithManager(ctx, mgr, m)
	if err != nil {
		return err
	}
	return recorder.RunWith(ctx, mgr.Start) // +events
}

// protect asks the API server who a client of HTTPS is and whether it may get
// the path, as kubebuilder's scaffold does. It covers the ExtraHandlers too.
func protect(options *server.Options) {
	if !options.SecureServing {
		return
	}
	options.FilterProvider = filters.WithAuthenticationAndAuthorization
	options.TLSOpts = append(options.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
}

// synced returns a check that fails until the manager has read what it watches.
// A standby watches too, so that it is ready as well.
func synced(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced")
		}
		return nil
	}
}

// stopInTime leaves the recorder its time before the pod is killed, and frees
// the lease when the reconcilers have ended. RunWith writes only events after
// that.
func stopInTime(options *ctrl.Options) {
	options.GracefulShutdownTimeout = ptr.To(15 * time.Second)
	options.LeaderElectionReleaseOnCancel = true
}
