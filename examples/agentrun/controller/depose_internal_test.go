// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
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
		reason string
		cause  error
		want   time.Duration
	}{
		"Stopped": {"No other process leads before it returns.", nil, finishing},
		"Deposed": {"Another replica may lead already.", ErrDeposed, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newServer().controller(t)
				c.options.Tracer, c.scopes = hanging{}, nil
				c.queue.Add(types.NamespacedName{Namespace: "ns", Name: "a"})
				leading, end := context.WithCancelCause(t.Context())
				var ended time.Time
				time.AfterFunc(20*time.Second, func() {
					ended = time.Now()
					end(tc.cause)
				})
				c.lead(leading)
				assert.Equal(t, tc.want, time.Since(ended), tc.reason)
			})
		})
	}
}
