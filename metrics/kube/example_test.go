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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/util/flowcontrol"
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

// A work queue of a controller, with everything in it counted.
func Example() {
	m, endpoint := set() // prom.New and metrics.New
	queue := kube.NewQueue(m.Controller("agentrun"), workqueue.DefaultTypedControllerRateLimiter[string]())
	queue.Add("ci/run-1")
	queue.AddAfter("ci/run-2", time.Hour)
	show(endpoint, "controller_queue_de")
	// Output:
	// controller_queue_delayed{controller="agentrun"} 1
	// controller_queue_depth{controller="agentrun"} 1
}

// The age of an informer's cache, and a check for readyz.
func ExampleNewCache() {
	m, _ := set()
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, new(corev1.Pod), 0, nil)
	c := kube.NewCache(m, "pods", informer)
	ready := c.Check(15 * time.Minute)
	fmt.Println(ready(nil)) // the informer was not started
	fmt.Println(c.Age() < 0)
	c.Close()
	// Output:
	// metrics/kube: the cache of pods has not been filled
	// true
}

func ExampleQueue() {
	queue := kube.NewQueue[string](nil, nil) // without metrics, with client-go's back-off
	queue.Add("ci/run-1")
	queue.Add("ci/run-1")
	item, _ := queue.Get()
	fmt.Println(item)
	queue.AddRateLimited(item) // it failed
	queue.Done(item)
	s := queue.State()
	fmt.Println(s.Depth, s.Delayed, s.Running, s.Retries)
	queue.ShutDown()
	_, shutdown := queue.Get()
	fmt.Println(shutdown)
	// Output:
	// ci/run-1
	// 0 1 0 1
	// true
}

func ExampleNewQueue() {
	// The shape of controller.Options.NewQueue of controller-runtime.
	m, endpoint := set()
	newQueue := func(name string, l workqueue.TypedRateLimiter[string]) workqueue.TypedRateLimitingInterface[string] {
		return kube.NewQueue(m.Controller(name), l)
	}
	newQueue("agentrun", nil).Add("ci/run-1")
	show(endpoint, "controller_queue_adds_total")
	// Output: controller_queue_adds_total{controller="agentrun"} 1
}

func ExampleQueueProvider() {
	m, endpoint := set()
	provider := kube.QueueProvider(m) // one for all queues
	newQueue := func() workqueue.TypedRateLimitingInterface[string] {
		return workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "agentrun", MetricsProvider: provider})
	}
	queue := newQueue()
	queue.Add("ci/run-1")
	queue.Add("ci/run-2")
	queue.ShutDown()

	queue = newQueue() // takes its place
	queue.Add("ci/run-3")
	show(endpoint, "controller_queue_")
	queue.ShutDown()
	// Output:
	// controller_queue_adds_total{controller="agentrun"} 3
	// controller_queue_depth{controller="agentrun"} 1
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
	cb.OnStartedLeading, cb.OnStoppedLeading = kube.Callbacks(m, "agents", work, func() {})
	cb.OnStartedLeading(context.Background()) // client-go does this
	show(endpoint, "controller_leader")
	// Output:
	// leading
	// controller_leader{lease="agents"} 1
}

// In the main function of a kubebuilder project: mgr.Add does the rest.
func ExampleNewLeaderRunnable() {
	m, endpoint := set()
	m.Leader("agents", true)
	runnable := kube.NewLeaderRunnable(m, "agents") // mgr.Add(runnable)
	fmt.Println(runnable.NeedLeaderElection())
	show(endpoint, "controller_leader") // 0 until the manager starts it
	// Output: true
}

func ExampleLimiter() {
	m, endpoint := set()
	limiter := kube.Limiter(m, flowcontrol.NewTokenBucketRateLimiter(20, 40)) // rest.Config.RateLimiter
	_ = limiter.Wait(context.Background())
	show(endpoint, "limiter_wait_duration_seconds_count")
	// Output: controller_client_limiter_wait_duration_seconds_count 1
}
