// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func set() (*metrics.Metrics, *prom.Endpoint) {
	ep, err := prom.New(prom.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := metrics.New(ep, metrics.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return m, ep
}

// show prints the series of a scrape that contain part and are not zero.
func show(h http.Handler, part string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(w.Body.String()) {
		if line[0] != '#' && strings.Contains(line, part) && !strings.HasSuffix(line, " 0\n") {
			fmt.Print(line)
		}
	}
}

// A work queue of client-go, with its controller's name.
func Example() {
	m, endpoint := set() // prom.New and metrics.New
	provider, err := kube.QueueProvider(m.Controller("agentrun"))
	if err != nil {
		log.Fatal(err)
	}
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "agentrun", MetricsProvider: provider})
	defer queue.ShutDown()
	queue.Add("ci/run-1")
	show(endpoint, "controller_queue_")
	// Output:
	// controller_queue_adds_total{controller="agentrun"} 1
	// controller_queue_depth{controller="agentrun"} 1
}

// Two clusters in one process need a scope each.
func ExampleQueueProvider() {
	m, _ := set()
	_, err := kube.QueueProvider(m.Controller("agentrun"))
	fmt.Println(err)
	_, err = kube.QueueProvider(m.Controller("agentrun"))
	fmt.Println(err)
	_, err = kube.QueueProvider(m.Scope("east").Controller("agentrun"))
	fmt.Println(err)
	// Output:
	// <nil>
	// metrics: already in use: the controller "agentrun" has a queue; make its QueueProvider once, and give each cluster its own Metrics.Scope
	// <nil>
}

// The age of an informer's cache. It counts from NewCache on, also if the
// informer never gets anything.
func ExampleNewCache() {
	m, endpoint := set()
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, new(corev1.Pod), 0, nil)
	c := kube.NewCache(m, "pods", informer) // then informer.RunWithContext(ctx)
	page := httptest.NewRecorder()
	endpoint.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	fmt.Println(strings.Contains(page.Body.String(), `controller_cache_age_seconds{resource="pods"}`))
	c.Close() // if the informer ends before the process
	// Output: true
}

func ExampleTransport() {
	m, endpoint := set()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := http.Client{Transport: kube.Transport(m)(http.DefaultTransport)} // config.Wrap(kube.Transport(m))
	resp, err := client.Get(server.URL + "/apis/batch/v1/namespaces/ci/jobs/run-1")
	if err != nil {
		return
	}
	_ = resp.Body.Close()
	show(endpoint, "request_duration_seconds_count")
	// Output: controller_client_request_duration_seconds_count{code="4xx",group="batch",resource="jobs",verb="get"} 1
}

func ExampleCallbacks() {
	m, endpoint := set()
	work := func(context.Context) { fmt.Println("leading") }
	var cb leaderelection.LeaderCallbacks
	var err error
	cb.OnStartedLeading, cb.OnStoppedLeading, err = kube.Callbacks(m, "agents", work, func() {})
	if err != nil {
		log.Fatal(err)
	}
	cb.OnStartedLeading(context.Background()) // client-go does this
	show(endpoint, "controller_leader")
	// Output:
	// leading
	// controller_leader{lease="agents"} 1
}

// In the main function of a kubebuilder project: mgr.Add does the rest.
func ExampleNewLeaderRunnable() {
	m, _ := set()
	runnable, err := kube.NewLeaderRunnable(m, "agents") // mgr.Add(runnable)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(runnable.NeedLeaderElection())
	// Output: true
}
