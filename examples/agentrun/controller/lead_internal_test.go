// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"k8s.io/apimachinery/pkg/types"
)

// hanging is a tracer whose reconciles take as long as their context lets them.
type hanging struct{ noop.Tracer }

func (hanging) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	<-ctx.Done()
	return ctx, noop.Span{}
}

func TestHowLongWhatRunsMayGoOn(t *testing.T) {
	tests := map[string]struct {
		reason        string
		stopped, lost time.Duration // after the beginning
		want          time.Duration
	}{
		"Stopped":        {"No other process leads before it returns.", 20 * time.Second, time.Hour, 20*time.Second + finishTimeout},
		"Lost":           {"Another replica may lead already.", 20 * time.Second, 20 * time.Second, 20 * time.Second},
		"LostAfterwards": {"Stopping does not keep the lease.", 20 * time.Second, 22 * time.Second, 22 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newServer().controller(t)
				c.options.Tracer = hanging{}
				c.queue.Add(types.NamespacedName{Namespace: "ns", Name: "a"})
				leading, stop := context.WithTimeout(t.Context(), tc.stopped)
				defer stop()
				holding, end := context.WithTimeout(t.Context(), tc.lost)
				defer end()
				began := time.Now()
				c.lead(leading, holding)
				assert.Equal(t, tc.want, time.Since(began), tc.reason)
			})
		})
	}
}

// TestNothingBeginsWhenItStops: a queue that is shut down still hands out what
// is ready.
func TestNothingBeginsWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newServer().controller(t)
		began := &counting{}
		c.options.Tracer, c.options.Workers = began, 1
		for i := range 100 {
			c.queue.Add(types.NamespacedName{Namespace: "ns", Name: strconv.Itoa(i)})
		}
		leading, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		c.lead(leading, t.Context())
		assert.Equal(t, int64(1), began.n.Load())
	})
}

// counting counts reconciles, which take two seconds.
type counting struct {
	noop.Tracer
	n atomic.Int64
}

func (c *counting) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	c.n.Add(1)
	time.Sleep(2 * time.Second)
	return ctx, noop.Span{}
}
