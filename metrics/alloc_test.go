// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package metrics_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// With the SDK and a reader attached, also when the span of the reconcile is
// sampled.
func TestRecordingDoesNotAllocate(t *testing.T) {
	ep, err := prom.New(prom.Options{Exemplars: true})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	c := m.Controller("agentrun")
	ctx, span := t.Context(), sampled(t.Context())
	request := metrics.Request{Verb: "get", Group: "batch", Resource: "jobs", Code: "2xx"}
	runs, events, writes := c.Runs(), c.Events(), c.StatusWrites()
	cases := map[string]func(){
		"BeginEnd":        func() { reconcile(ctx, c) },
		"BeginEndSampled": func() { reconcile(span, c) },
		"BeginSpan":       func() { reconcileWithSpan(ctx, c) },
		"Run":             func() { runs.End(ctx, time.Minute, metrics.Success) },
		"RunsActive":      func() { runs.Active(1) },
		"QueueWait":       func() { c.QueueWait(time.Second) },
		"Events":          func() { events("emitted", 1) },
		"StatusWrite":     func() { writes("written", time.Second) },
		"JobMissing":      func() { runs.JobMissing() },
		"ClientRequest":   func() { m.ClientRequest(ctx, request, time.Second) },
		"ClientWait":      func() { m.ClientWait(ctx, time.Second) },
		"SameController":  func() { m.Controller("agentrun") },
		"Classify":        func() { metrics.Classify(nil, 0, nil) },
	}
	for name, record := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Zero(t, testing.AllocsPerRun(1000, record))
		})
	}
}

// reconcileWithSpan is a reconcile of a controller that has no tracer.
func reconcileWithSpan(ctx context.Context, c *metrics.Controller) {
	var result metrics.Result
	ctx, attempt := c.BeginSpan(ctx, nil, "reconcile")
	defer attempt.End(ctx, &result)
	result = metrics.Success
}
