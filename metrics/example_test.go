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

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// set is a set of instruments on a separate endpoint, as each program has one.
func set(o metrics.Options) (*metrics.Metrics, *prom.Endpoint) {
	ep, err := prom.New(prom.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := metrics.New(ep, o)
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

// Two lines in a reconcile record its result and its duration. They also show
// its object as failing until it succeeds.
func Example() {
	m, endpoint := set(metrics.Options{}) // prom.New and metrics.New
	c := m.Controller("agentrun")
	reconcile := func(ctx context.Context, key string) (after time.Duration, err error) {
		ctx, done := c.Begin(ctx, key)
		defer done(&err, &after)
		if key == "ci/run-1" {
			return 0, errors.New("the Secret is missing")
		}
		return time.Minute, ctx.Err()
	}
	_, _ = reconcile(context.Background(), "ci/run-1")
	_, _ = reconcile(context.Background(), "ci/run-2")
	show(endpoint, "controller_reconciles_total")
	show(endpoint, "controller_failing{")
	// Output:
	// controller_reconciles_total{controller="agentrun",result="error"} 1
	// controller_reconciles_total{controller="agentrun",result="requeue_after"} 1
	// controller_failing{controller="agentrun",result="error"} 1
}

func ExampleNew() {
	_, err := metrics.New(nil, metrics.Options{})
	fmt.Println(err)
	// Output:
	// metrics: no usable meter provider: it is nil; pass a prom.Endpoint made by prom.New, or a MeterProvider of OpenTelemetry's SDK
}

// The span, the exemplar and the log lines of a reconcile have the same IDs.
func ExampleController_Begin() {
	invalid := errors.New("spec.image: required")
	exporter := tracetest.NewInMemoryExporter()
	m, endpoint := set(metrics.Options{
		IsTerminal: func(err error) bool { return errors.Is(err, invalid) }, // events.IsTerminal fits
		Tracer:     sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("agentrun"),
	})
	reconcile := func(ctx context.Context, key string) (err error) {
		_, done := m.Controller("agentrun").Begin(ctx, key)
		defer done(&err, nil)
		return fmt.Errorf("create the Job of %s: %w", key, invalid)
	}
	_ = reconcile(context.Background(), "ci/run-1")
	span := exporter.GetSpans()[0]
	fmt.Println(span.Name, span.Status.Description)
	show(endpoint, "controller_failing{")
	// Output:
	// reconcile agentrun terminal_error
	// controller_failing{controller="agentrun",result="terminal"} 1
}

// Two managers, each of one cluster, in one process.
func ExampleMetrics_Scope() {
	m, endpoint := set(metrics.Options{})
	for _, cluster := range []string{"east", "west"} {
		m.Scope(cluster).Controller("agentrun").SetWorkers(2)
	}
	show(endpoint, "controller_worker_limit")
	// Output:
	// controller_worker_limit{controller="agentrun",scope="east"} 2
	// controller_worker_limit{controller="agentrun",scope="west"} 2
}

// Events and StatusWrites fit the hooks of packages events and status, which do
// not import this package.
func ExampleController_Events() {
	m, endpoint := set(metrics.Options{})
	options := struct{ OnResult func(result string, n int64) }{m.Controller("agentrun").Events()} // events.Options
	options.OnResult("emitted", 1)
	options.OnResult("aggregated", 41)
	show(endpoint, "controller_events_total")
	// Output:
	// controller_events_total{controller="agentrun",result="aggregated"} 41
	// controller_events_total{controller="agentrun",result="emitted"} 1
}

func ExampleController_StatusWrites() {
	m, endpoint := set(metrics.Options{})
	writer := struct {
		OnCommit func(result string, took time.Duration)
	}{m.Controller("agentrun").StatusWrites()} // status.Writer
	writer.OnCommit("written", 12*time.Millisecond)
	show(endpoint, "controller_status_writes_total")
	// Output: controller_status_writes_total{controller="agentrun",result="written"} 1
}

func ExampleRuns() {
	m, endpoint := set(metrics.Options{})
	runs := m.Controller("agentrun").Runs()
	runs.Active(2) // two Jobs were created
	runs.Active(-1)
	runs.End(context.Background(), 7*time.Minute, metrics.Success)
	runs.End(context.Background(), -1, metrics.TerminalError) // its Job was refused: it never started
	show(endpoint, "controller_run_active")
	show(endpoint, "controller_runs_total")
	show(endpoint, "controller_run_duration_seconds_sum")
	// Output:
	// controller_run_active{controller="agentrun"} 1
	// controller_runs_total{controller="agentrun",result="success"} 1
	// controller_runs_total{controller="agentrun",result="terminal_error"} 1
	// controller_run_duration_seconds_sum{controller="agentrun",result="success"} 420
}

func ExampleRuns_Retention() {
	m, endpoint := set(metrics.Options{})
	m.Controller("agentrun").Runs().Retention(10*time.Minute, 30*24*time.Hour, 7*24*time.Hour)
	show(endpoint, "controller_retention")
	// Output:
	// controller_retention_seconds{controller="agentrun",of="job"} 600
	// controller_retention_seconds{controller="agentrun",of="log"} 604800
	// controller_retention_seconds{controller="agentrun",of="run"} 2.592e+06
}

// kube.QueueProvider does this for a work queue of client-go.
func ExampleController_ObserveQueue() {
	m, endpoint := set(metrics.Options{})
	waiting := []string{"a", "b", "c"}
	c := m.Controller("agentrun")
	err := c.ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{Depth: int64(len(waiting)), Unfinished: -1, Longest: -1}
	})
	if err != nil {
		log.Fatal(err)
	}
	c.QueueAdd() // for each item
	show(endpoint, "controller_queue_")
	// Output:
	// controller_queue_adds_total{controller="agentrun"} 1
	// controller_queue_depth{controller="agentrun"} 3
}

// The states of all objects in two series, not in one per object.
func ExampleMetrics_ObserveConditions() {
	m, endpoint := set(metrics.Options{})
	cache := map[string]string{"run-1": "True", "run-2": "True", "run-3": "False"} // the condition Ready, by name
	m.ObserveConditions("AgentRun", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		return func(yield func(metrics.Condition, int64) bool) {
			for _, status := range cache {
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

// kube.NewCache does this for an informer of client-go.
func ExampleMetrics_ObserveCache() {
	m, endpoint := set(metrics.Options{})
	last := time.Now().Add(-time.Minute)
	stop := m.ObserveCache("pods", func() time.Duration { return time.Since(last).Truncate(time.Minute) })
	show(endpoint, "controller_cache")
	stop()
	// Output: controller_cache_age_seconds{resource="pods"} 60
}

// kube.Callbacks and kube.NewLeaderRunnable do this for an election.
func ExampleMetrics_Lease() {
	m, endpoint := set(metrics.Options{})
	lease, err := m.Lease("agents")
	if err != nil {
		log.Fatal(err)
	}
	lease.Set(true)
	show(endpoint, "controller_leader")
	lease.Close()
	// Output: controller_leader{lease="agents"} 1
}
