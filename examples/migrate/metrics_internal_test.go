// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func TestBothSetsOfMetricsAreOnOnePage(t *testing.T) {
	before := metricsBefore()
	t.Cleanup(func() { ctrlmetrics.Registry.Unregister(before.missing) })
	before.missing.Inc()
	var options ctrl.Options
	r, err := metricsAfter(new(rest.Config), &options)
	require.NoError(t, err)
	for _, failure := range []error{nil, reconcile.TerminalError(errors.New("no image")), errors.New("away")} {
		r.reconcile = func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, failure }
		_, err = r.Reconcile(t.Context(), ctrl.Request{})
		require.Equal(t, failure, err)
	}
	r.metrics.Runs().JobMissing()

	w := httptest.NewRecorder()
	options.Metrics.ExtraHandlers["/metrics/all"].ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics/all", http.NoBody))
	assert.Contains(t, w.Body.String(), "\nagentrun_missing_jobs_total 1\n")
	assert.Contains(t, w.Body.String(), "\n"+`controller_missing_jobs_total{controller="agentrun"} 1`+"\n")
	for _, result := range []string{"success", "terminal_error", "error"} {
		assert.Contains(t, w.Body.String(), "\n"+`controller_reconciles_total{controller="agentrun",result="`+result+`"} 1`+"\n")
	}
}

// panicking is a collector that panics.
type panicking struct{}

func (panicking) Describe(chan<- *prometheus.Desc) {}

func (panicking) Collect(chan<- prometheus.Metric) { panic("broken") }

// TestEndpoint_KeepsTheMetricsNextToACollectorThatPanics: client_golang
// recovers the panic since v1.24, which is newer than what the root requires.
func TestEndpoint_KeepsTheMetricsNextToACollectorThatPanics(t *testing.T) {
	next := prometheus.NewCounter(prometheus.CounterOpts{Name: "next_to_it", Help: "Theirs."})
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(next))
	require.NoError(t, registry.Register(panicking{}))
	var reported error
	endpoint, err := prom.New(prom.Options{
		Gatherers: []prometheus.Gatherer{registry},
		OnError:   func(err error) { reported = err },
	})
	require.NoError(t, err)

	page := httptest.NewRecorder()
	endpoint.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	assert.Equal(t, http.StatusOK, page.Code)
	assert.Contains(t, page.Body.String(), "\nnext_to_it 0\n")
	assert.ErrorContains(t, reported, "broken")
}

func TestThePriorityQueueIsMeasured(t *testing.T) {
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	set, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	newQueue, err := measuredQueue(set.Controller("agentrun"))
	require.NoError(t, err)
	queue := newQueue("agentrun", workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	queue.Add(ctrl.Request{})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		page := httptest.NewRecorder()
		endpoint.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		assert.Contains(c, page.Body.String(), `controller_queue_depth{controller="agentrun"} 1`)
	}, time.Minute, 10*time.Millisecond)
}

// TestEachClusterHasAScope: the requests to two clusters are apart.
func TestEachClusterHasAScope(t *testing.T) {
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	set, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	configs := map[string]*rest.Config{"east": {Host: server.URL}, "west": {Host: server.URL}}
	metricsOfClusters(set, configs)
	for _, config := range configs {
		client, err := rest.HTTPClientFor(config)
		require.NoError(t, err)
		answer, err := client.Get(server.URL + "/api/v1/pods")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	page := httptest.NewRecorder()
	endpoint.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for _, cluster := range []string{"east", "west"} {
		series := `controller_client_requests_total{code="4xx",group="",resource="pods",scope="` + cluster + `",verb="list"} 1`
		assert.Contains(t, page.Body.String(), series)
	}
}

// TestYourTests_OfMetrics is the code that the guide shows.
func TestYourTests_OfMetrics(t *testing.T) {
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	set, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	set.Controller("agentrun").Runs().JobMissing() // your reconcile

	page := httptest.NewRecorder()
	endpoint.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	assert.Contains(t, page.Body.String(), `controller_missing_jobs_total{controller="agentrun"} 1`)
}

// TestTheTableOfNamesIsTrue: each name of the guide exists, in
// controller-runtime's registry or in controllerkit.
func TestTheTableOfNamesIsTrue(t *testing.T) {
	registry, ok := ctrlmetrics.Registry.(prometheus.Collector)
	require.True(t, ok)
	described := make(chan *prometheus.Desc)
	go func() {
		defer close(described)
		registry.Describe(described)
	}()
	theirs := map[string]bool{}
	ours := map[string]bool{}
	for d := range described {
		if m := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(fmt.Sprint(d)); m != nil {
			theirs[m[1]] = true
		}
	}
	table, err := os.ReadFile("../operate/metrics.md")
	require.NoError(t, err)
	for _, row := range regexp.MustCompile("(?m)^\\| `controller[.][^|]*\\| `([a-z_]+)`").FindAllSubmatch(table, -1) {
		ours[string(row[1])] = true
	}
	page, err := os.ReadFile("controller-runtime-metrics.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)[^|]*\\| `([a-z_]+)").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 8)
	for _, row := range rows {
		assert.True(t, theirs[row[1]], "%s is not a metric of controller-runtime", row[1])
		assert.True(t, ours[row[2]], "%s is not in examples/operate/metrics.md", row[2])
	}
}
