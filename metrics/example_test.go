// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// set is a set of instruments on a separate endpoint, as each program has one.
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

// Two lines in a reconcile record its count, its duration and its result.
func Example() {
	m, endpoint := set() // prom.New and metrics.New
	func(ctx context.Context) {
		var result metrics.Result // counts as unknown, or as panic if the reconcile panics, until it is set
		defer m.Controller("agentrun").Begin().End(ctx, &result)
		result = metrics.Classify(errors.New("the API server is away"), 0, nil)
	}(context.Background())
	show(endpoint, "controller_reconciles_total")
	// Output: controller_reconciles_total{controller="agentrun",result="error"} 1
}

func ExampleNew() {
	_, err := metrics.New(nil, metrics.Options{})
	fmt.Println(errors.Is(err, metrics.ErrNoProvider))

	ep, _ := prom.New(prom.Options{})
	_, err = metrics.New(ep, metrics.Options{MaxControllers: -1})
	fmt.Println(err)
	// Output:
	// true
	// metrics: invalid option: Options.MaxControllers: -1 is not accepted; want a positive number, or 0 for 150
}

func ExampleClassify() {
	notFound := errors.New("secret not found")
	terminal := func(err error) bool { return errors.Is(err, notFound) } // events.IsTerminal fits
	fmt.Println(metrics.Classify(nil, 0, terminal))
	fmt.Println(metrics.Classify(nil, time.Minute, terminal))
	fmt.Println(metrics.Classify(fmt.Errorf("create job: %w", notFound), 0, terminal))
	fmt.Println(metrics.Classify(fmt.Errorf("list pods: %w", context.Canceled), 0, terminal))
	// Output:
	// success
	// requeue_after
	// terminal_error
	// canceled
}

func ExampleResult_Failed() {
	for _, r := range []metrics.Result{metrics.Success, metrics.Canceled, metrics.Timeout, metrics.Panic} {
		fmt.Println(r, r.Failed())
	}
	// Output:
	// success false
	// canceled false
	// timeout true
	// panic true
}

func ExampleAttempt_End() {
	m, endpoint := set()
	attempt := m.Controller("agentrun").Begin()
	show(endpoint, "controller_reconcile_active")
	attempt.End(context.Background(), ptr.To(metrics.Success))
	attempt.End(context.Background(), ptr.To(metrics.Error)) // does nothing
	show(endpoint, "controller_reconciles_total")
	// Output:
	// controller_reconcile_active{controller="agentrun"} 1
	// controller_reconciles_total{controller="agentrun",result="success"} 1
}

// Events and StatusWrites fit the hooks of packages events and status, which do
// not import this package.
func ExampleController_Events() {
	m, endpoint := set()
	options := struct{ OnResult func(result string, n int64) }{m.Controller("agentrun").Events()} // events.Options
	options.OnResult("emitted", 1)
	options.OnResult("aggregated", 41)
	show(endpoint, "controller_events_total")
	// Output:
	// controller_events_total{controller="agentrun",result="aggregated"} 41
	// controller_events_total{controller="agentrun",result="emitted"} 1
}

func ExampleController_StatusWrites() {
	m, endpoint := set()
	writer := struct {
		OnCommit func(result string, took time.Duration)
	}{m.Controller("agentrun").StatusWrites()} // status.Writer
	writer.OnCommit("written", 12*time.Millisecond)
	show(endpoint, "controller_status_writes_total")
	// Output: controller_status_writes_total{controller="agentrun",result="written"} 1
}

func ExampleRuns() {
	m, endpoint := set()
	runs := m.Controller("agentrun").Runs()
	runs.Active(2) // two Jobs were created
	runs.Active(-1)
	runs.End(context.Background(), 7*time.Minute, metrics.Success)
	show(endpoint, "controller_run_active")
	show(endpoint, "controller_run_duration_seconds_sum")
	// Output:
	// controller_run_active{controller="agentrun"} 1
	// controller_run_duration_seconds_sum{controller="agentrun",result="success"} 420
}

func ExampleRuns_Retention() {
	m, endpoint := set()
	m.Controller("agentrun").Runs().Retention(10*time.Minute, 30*24*time.Hour, 7*24*time.Hour)
	show(endpoint, "controller_")
	// Output:
	// controller_job_ttl_seconds{controller="agentrun"} 600
	// controller_log_retention_seconds{controller="agentrun"} 604800
	// controller_run_retention_seconds{controller="agentrun"} 2.592e+06
}

// kube.NewQueue does this for a work queue of client-go.
func ExampleController_ObserveQueue() {
	m, endpoint := set()
	waiting := []string{"a", "b", "c"}
	stop := m.Controller("agentrun").ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{Depth: int64(len(waiting)), Oldest: 90 * time.Second}
	})
	show(endpoint, "controller_queue_")
	stop() // the series end with the queue
	show(endpoint, "controller_queue_")
	// Output:
	// controller_queue_depth{controller="agentrun"} 3
	// controller_queue_oldest_seconds{controller="agentrun"} 90
}

func ExampleController_Close() {
	m, endpoint := set()
	c := m.Controller("agentrun")
	c.Runs().JobMissing()
	c.Close() // its kind is no longer served, for example
	show(endpoint, "agentrun")
	m.Controller("agentrun")
	show(endpoint, "agentrun")
	// Output: controller_missing_jobs_total{controller="agentrun"} 1
}

func ExampleMetrics_Controller() {
	ep, _ := prom.New(prom.Options{})
	m, _ := metrics.New(ep, metrics.Options{MaxControllers: 1})
	for _, name := range []string{"a", "b", "c"} {
		m.Controller(name).Runs().JobMissing()
	}
	show(ep, "controller_missing_jobs_total")
	show(ep, "controller_label_overflows_total")
	// Output:
	// controller_missing_jobs_total{controller="a"} 1
	// controller_missing_jobs_total{controller="other"} 2
	// controller_label_overflows_total{label="controller"} 2
}

// The states of all objects in two series, not in one per object.
func ExampleMetrics_ObserveConditions() {
	m, endpoint := set()
	cache := map[string]bool{"run-1": true, "run-2": true, "run-3": false} // ready, by name
	m.ObserveConditions("AgentRun", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		return func(yield func(metrics.Condition, int64) bool) {
			for _, ready := range cache {
				status := map[bool]string{true: "True", false: "False"}[ready]
				if !yield(metrics.Condition{Type: "Ready", Status: status}, 1) {
					return
				}
			}
		}
	})
	show(endpoint, "controller_objects")
	// Output:
	// controller_objects{condition="Ready",kind="AgentRun",status="False"} 1
	// controller_objects{condition="Ready",kind="AgentRun",status="True"} 2
}

// The span, the exemplar and the log lines of a reconcile have the same IDs.
func ExampleController_BeginSpan() {
	m, endpoint := set()
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("agentrun")
	reconcile := func(ctx context.Context) {
		var result metrics.Result
		ctx, attempt := m.Controller("agentrun").BeginSpan(ctx, tracer, "reconcile AgentRun")
		defer attempt.End(ctx, &result)
		result = metrics.Error
	}
	reconcile(context.Background())
	span := exporter.GetSpans()[0]
	fmt.Println(span.Name, span.Status.Description)
	show(endpoint, "controller_reconciles_total")
	// Output:
	// reconcile AgentRun error
	// controller_reconciles_total{controller="agentrun",result="error"} 1
}

// kube.NewCache does this for an informer of client-go.
func ExampleMetrics_ObserveCache() {
	m, endpoint := set()
	last := time.Now().Add(-time.Minute)
	stop := m.ObserveCache("pods", func() time.Duration { return time.Since(last).Truncate(time.Minute) })
	show(endpoint, "controller_cache")
	stop()
	// Output: controller_cache_age_seconds{resource="pods"} 60
}

func ExampleMetrics_Leader() {
	m, endpoint := set()
	m.Leader("agents", true)
	show(endpoint, "controller_leader")
	// Output: controller_leader{lease="agents"} 1
}

// The bound for the sampleLimit of a ServiceMonitor.
func ExampleMetrics_MaxSeries() {
	m, _ := set()
	fmt.Println(m.MaxSeries(3) < 10_000, m.MaxSeries(1000) == m.MaxSeries(151))
	// Output: true true
}
