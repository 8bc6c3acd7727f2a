// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
)

// newServer returns a fake API server. The examples use it in place of a
// clientset of client-go.
func newServer() *server { return &server{} }

// print shows the Events that s stores.
func (s *server) print() {
	for _, ev := range s.all() {
		fmt.Print(ev.Type, " ", ev.Reason, " ", ev.Regarding.Name, ": ", ev.Note)
		if ev.Series != nil {
			fmt.Print(" (x", ev.Series.Count, ")")
		}
		fmt.Println()
	}
}

// One failure that repeats is one Event, and its note holds no password.
func Example() {
	ctx, s, run := context.Background(), newServer(), object("run-1")

	sink := events.NewSink(s.events, s.core) // cs.EventsV1().Events, cs.CoreV1().Events
	rec, err := events.New(sink, "agents.example.com/agentrun", events.Options{})
	for range 1000 {
		rec.Failure(run, errors.New("dial postgres://agent:"+"hunter2"+"@db/runs: connection refused"))
	}
	fmt.Println(err, rec.Flush(ctx))

	s.print()
	// Output:
	// <nil> <nil>
	// Warning InternalError run-1: dial postgres://agent:[redacted]@db/runs: connection refused (x1000)
}

// The parameters are method values of client-go's clients: cs.EventsV1().Events
// and cs.CoreV1().Events. Where the first group is not served or not granted,
// the second takes the Events.
func ExampleNewSink() {
	s := newServer()
	s.refuse = func(_ context.Context, w request) error {
		if w.group == "events.k8s.io" {
			return notGranted()
		}
		return nil
	}
	rec, _ := events.New(events.NewSink(s.events, s.core), controller, events.Options{})
	rec.Eventf(object("run-1"), nil, "Normal", "Started", "Run", "started")
	_ = rec.Flush(context.Background())
	s.print()
	// Output: Normal Started run-1: started
}

func ExampleNew() {
	s := newServer()
	_, err := events.New(events.NewSink(s.events, s.core), "agents.example.com/", events.Options{WritesPerMinute: 7000})
	fmt.Println(err) // all mistakes
	// Output:
	// events: controller name "agents.example.com/": name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character; want a qualified name such as agents.example.com/agentrun
	// events: Options.WritesPerMinute is 7000; want at most 6000
}

// With controller-runtime call rec.RunWith(ctx, mgr.Start) in place of
// mgr.Start(ctx). Reconciles that finish while the manager stops still record
// events. RunWith writes these too.
func ExampleRecorder_RunWith() {
	s := newServer()
	rec, _ := events.New(events.NewSink(s.events, s.core), controller, events.Options{})
	ctx, terminate := context.WithCancel(context.Background())
	start := func(ctx context.Context) error { // a manager's
		terminate()
		<-ctx.Done()
		rec.Eventf(object("run-1"), nil, "Normal", "Stopped", "Run", "stopped in the middle")
		return nil
	}
	fmt.Println(rec.RunWith(ctx, start))
	s.print()
	// Output:
	// <nil>
	// Normal Stopped run-1: stopped in the middle
}

// A command that ends by itself calls Flush in its function: after an error
// RunWith writes for a second only, because workers may still run.
func ExampleRecorder_RunWith_oneShot() {
	s := newServer()
	rec, _ := events.New(events.NewSink(s.events, s.core), controller, events.Options{})
	migrate := func(ctx context.Context) (err error) {
		defer func() {
			rec.Failure(object("run-1"), err)
			err = errors.Join(err, rec.Flush(ctx))
		}()
		return errors.New("run-1 has no agent")
	}
	fmt.Println(rec.RunWith(context.Background(), migrate))
	s.print()
	// Output:
	// run-1 has no agent
	// Warning InternalError run-1: run-1 has no agent
}

func ExampleRecorder_Failure() {
	s := newServer()
	rec, _ := events.New(s.sink(), controller, events.Options{})
	reconcile := func(err error) {
		defer func() { rec.Failure(object("run-1"), err) }()
	}
	reconcile(invalid("spec.agent: Required value")) // a retry fails the same way
	reconcile(nil)                                   // the spec was corrected
	reconcile(nil)
	_ = rec.Flush(context.Background())
	s.print()
	// Output:
	// Warning InvalidSpec run-1: spec.agent: Required value
	// Normal Recovered run-1: recovered from InvalidSpec
}

func ExampleRecorder_FailureReason() {
	s := newServer()
	rec, _ := events.New(s.sink(), controller, events.Options{})
	rec.FailureReason(object("run-1"), "ProviderNotReady", errors.New("provider openai has no capacity"))
	_ = rec.Flush(context.Background())
	s.print()
	// Output: Warning ProviderNotReady run-1: provider openai has no capacity
}

func ExampleRecorder_Eventf() {
	s := newServer()
	rec, _ := events.New(s.sink(), controller, events.Options{})
	rec.Eventf(object("run-1"), object("job-1"), "Normal", "JobCreated", "CreateJob", "created job %s", "job-1")
	_ = rec.Flush(context.Background())
	s.print()
	// Output: Normal JobCreated run-1: created job job-1
}

func ExampleRecorder_Legacy() {
	s := newServer()
	rec, _ := events.New(s.sink(), controller, events.Options{})
	old := rec.Legacy() // for leader election, or code that was written for tools/record
	old.Event(object("lease"), "Normal", "LeaderElection", "pod-0 became leader")
	_ = rec.Flush(context.Background())
	s.print()
	// Output: Normal LeaderElection lease: pod-0 became leader
}

func ExampleRecorder_Flush() {
	s := newServer()
	rec, _ := events.New(s.sink(), controller, events.Options{})
	rec.Eventf(object("run-1"), nil, "Normal", "Done", "Run", "a program that ends needs no RunWith")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(rec.Flush(ctx), len(s.all()))
	// Output: <nil> 1
}

func ExampleRecorder_Stats() {
	rec, _ := events.New(newServer().sink(), controller, events.Options{})
	for range 10 {
		rec.Failure(object("run-1"), errors.New("x"))
	}
	rec.Failure(nil, errors.New("no object"))
	_ = rec.Flush(context.Background())
	st := rec.Stats()
	fmt.Println(st.Recorded, st.Written, st.Pending, st.Lost)
	// Output: 11 1 0 map[NoReference:1]
}

// blockedError is a controller's own error, which says by two methods how to
// report it.
type blockedError struct{ name string }

func (e blockedError) Error() string  { return "secret " + e.name + " is not allowed" }
func (e blockedError) Reason() string { return "SecretBlocked" }
func (e blockedError) Terminal() bool { return true }

func ExampleClassify() {
	fmt.Println(events.Classify(fmt.Errorf("reconcile: %w", blockedError{"prod-db"})))
	fmt.Println(events.Classify(invalid("spec.agent: Required value")))
	fmt.Println(events.Classify(context.DeadlineExceeded))
	// Output:
	// SecretBlocked true
	// InvalidSpec true
	// Timeout false
}

func ExampleIsTerminal() {
	fmt.Println(events.IsTerminal(invalid("spec.agent: Required value")), events.IsTerminal(nil))
	// Output: true false
}

func ExampleNewCoreSink() {
	s := newServer()
	rec, _ := events.New(events.NewCoreSink(s.core), controller, events.Options{}) // cs.CoreV1().Events
	rec.Eventf(object("run-1"), nil, "Normal", "Started", "Run", "started")
	_ = rec.Flush(context.Background())
	fmt.Println(s.all()[0].DeprecatedCount, s.all()[0].DeprecatedSource.Component)
	// Output: 1 agents.example.com/agentrun
}

func ExampleOptions() {
	var secrets redact.SecretValues
	counts := map[string]int64{}
	s := newServer()
	rec, _ := events.New(s.sink(), controller, events.Options{
		WritesPerMinute: 10,
		Scheme:          runtime.NewScheme(),                                  // mgr.GetScheme()
		Redact:          secrets.Redact,                                       // masks what the reconcile read, for certain
		OnResult:        func(result string, n int64) { counts[result] += n }, // a counter of any metrics library
	})
	secrets.Add([]byte("open sesame"))
	rec.Failure(object("run-1"), errors.New("login with open sesame failed"))
	rec.Failure(object("run-1"), errors.New("login with open sesame failed"))
	_ = rec.Flush(context.Background())
	s.print()
	fmt.Println(counts)
	// Output:
	// Warning InternalError run-1: login with [redacted] failed (x2)
	// map[aggregated:1 emitted:1]
}
