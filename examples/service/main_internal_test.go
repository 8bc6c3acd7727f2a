// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

// TestTheServiceStaysItsOwn: the packages change nothing else in the process.
//
//req:shows A2
func TestTheServiceStaysItsOwn(t *testing.T) {
	names := registered(t)
	meters, tracers, propagator := otel.GetMeterProvider(), otel.GetTracerProvider(), otel.GetTextMapPropagator()
	listeners := countListeners(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := newAPI(t)
	a.put(t, monthly, newReport())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, a.config(), "reports", l) }()
	url := "http://" + l.Addr().String()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		page := read(c, http.DefaultClient, url+"/metrics")
		assert.Equal(c, "1", value(page, `controller_status_writes_total{controller="report",result="written"}`))
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, "ok\n", read(t, http.DefaultClient, url+"/healthz"))

	listeners(1)
	assert.Equal(t, names, registered(t))
	assert.Same(t, meters, otel.GetMeterProvider())
	assert.Same(t, tracers, otel.GetTracerProvider())
	assert.Equal(t, propagator, otel.GetTextMapPropagator())
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.NoError(t, <-ended)
	listeners(0)
}

// registered are the metrics of the process's default registry.
func registered(t *testing.T) (names []string) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

// TestTheServiceEnds_IfItCannotServe: the bubble ends only if nothing is left
// running.
func TestTheServiceEnds_IfItCannotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		l := &pipes{closed: make(chan struct{})}
		require.NoError(t, l.Close())
		require.ErrorIs(t, serve(t.Context(), a.config(), "reports", l), net.ErrClosed)
	})
}

// TestTheRole_HasTheNamespaceOfTheLease: the first lines of main.go begin with
// an empty cluster.
func TestTheRole_HasTheNamespaceOfTheLease(t *testing.T) {
	first, _, _ := strings.Cut(role, "\n---\n")
	var namespace corev1.Namespace
	require.NoError(t, yaml.UnmarshalStrict([]byte(first), &namespace))
	assert.Equal(t, "Namespace", namespace.Kind)
	assert.Equal(t, "reports", namespace.Name)
}

func TestManifest(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, manifest(&out, false))
	var plain, canary map[string]any
	require.NoError(t, yaml.Unmarshal(out.Bytes(), &plain))
	assert.Equal(t, "Deployment", plain["kind"])
	out.Reset()
	require.NoError(t, manifest(&out, true))
	require.NoError(t, yaml.Unmarshal(out.Bytes(), &canary))
	assert.Equal(t, "Rollout", canary["kind"])
	steps, _, err := unstructured.NestedSlice(canary, "spec", "strategy", "canary", "steps")
	require.NoError(t, err)
	assert.Len(t, steps, 2, "20 percent, then a person decides")
	for _, path := range [][]string{{"metadata"}, {"spec", "selector"}, {"spec", "template"}} {
		before, _, _ := unstructured.NestedMap(plain, path...)
		after, _, _ := unstructured.NestedMap(canary, path...)
		assert.Equal(t, before, after)
	}
	require.Error(t, manifest(refusing{}, false))
}

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
