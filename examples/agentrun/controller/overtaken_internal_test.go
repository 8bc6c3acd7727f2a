// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// tally counts the reconciles.
type tally struct {
	noop.Tracer
	n int
}

func (c *tally) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	c.n++
	return ctx, noop.Span{}
}

// A status that was restored from a backup is of a newer generation than its
// run, so no write of it succeeds.
func TestARunThatStaysOvertaken_BacksOffAndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, _ := newStarted("nightly", nil)
		setPhase(run, v1alpha1.Succeeded, reasonSucceeded, "", time.Now())
		run.Status.JobRef.Released = true
		run.Status.ObservedGeneration, run.Generation = 3, 1
		c := newServer(run).controller(t)
		began := new(tally)
		c.options.Tracer = began
		var lines []string
		ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
		leading, stop := context.WithTimeout(ctx, 10*time.Minute)
		defer stop()
		c.queue.Add(keyOf(run))
		var wg sync.WaitGroup
		wg.Go(func() { c.work(leading, ctx) })
		<-leading.Done()
		c.queue.ShutDown()
		wg.Wait()
		assert.Less(t, began.n, 60)
		assert.Contains(t, strings.Join(lines, "\n"), "newer generation")
		assert.Greater(t, c.recorder.Stats().Recorded, c.recorder.Stats().Suppressed, "an Event after two minutes of conflicts")
	})
}
