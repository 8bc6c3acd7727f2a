// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/metric/noop"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/internal/demo/baseline"
	"github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/metrics"
)

const namespace = "sieve"

// contestant is a controller that the plans are played with.
type contestant struct {
	name  string
	start func(context.Context, *rest.Config) error // returns when the context ends
	must  bool                                      // each plan must end as without faults
}

func contestants() []contestant {
	return []contestant{
		{"this example", ours, true},
		{"careful", peer(baseline.Careful), false},
		{"careful without the live read", peer(baseline.CarefulByCache), false},
		{"usual", peer(baseline.Usual), false},
	}
}

func config(transport http.RoundTripper) *rest.Config {
	c := &rest.Config{Host: "http://127.0.0.1", Transport: transport, QPS: -1}
	c.ContentType = "application/json"
	return c
}

func ours(ctx context.Context, config *rest.Config) error {
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	if err != nil {
		return err
	}
	retention, err := settings.FromEnv(func(string) (string, bool) { return "", false }, settings.JangarNames())
	if err != nil {
		return err
	}
	o := controller.Options{Namespaces: []string{namespace}, Retention: retention, Metrics: m}
	mgr, recorder, err := controller.NewManager(ctx, config, options(), o)
	if err != nil {
		return err
	}
	return recorder.RunWith(ctx, mgr.Start)
}

func peer(kind baseline.Kind) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		mgr, err := baseline.New(config, options(), namespace, kind)
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
}

// options are a manager's for the simulated API server, which serves no list of
// kinds.
func options() ctrl.Options {
	o := ctrl.Options{Logger: logr.Discard()}
	o.Metrics.BindAddress = "0"
	o.Controller.SkipNameValidation = new(true)
	o.MapperProvider = func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
		mapper := apimeta.NewDefaultRESTMapper(nil)
		mapper.Add(v1alpha1.GroupVersion().WithKind("AgentRun"), apimeta.RESTScopeNamespace)
		mapper.Add(batchv1.SchemeGroupVersion.WithKind("Job"), apimeta.RESTScopeNamespace)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
		return mapper, nil
	}
	return o
}
