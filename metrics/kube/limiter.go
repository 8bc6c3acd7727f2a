// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/proompteng/controllerkit/metrics"
)

// Limiter wraps the rate limiter of a rest.Config so that the time which
// requests wait for it is recorded:
//
//	config.RateLimiter = kube.Limiter(m, flowcontrol.NewTokenBucketRateLimiter(20, 40))
//
// Set it before you make clients. All clients made from a config share its
// limiter, which replaces QPS and Burst. Without one, client-go makes a limiter
// for each client. A nil limiter stays nil, so client-go still makes its own.
func Limiter(m *metrics.Metrics, next flowcontrol.RateLimiter) flowcontrol.RateLimiter {
	if next == nil || m == nil {
		return next
	}
	return &limiter{RateLimiter: next, m: m}
}

type limiter struct {
	flowcontrol.RateLimiter
	m *metrics.Metrics
}

// Wait waits for a token or the end of ctx, and records for how long.
func (l *limiter) Wait(ctx context.Context) error {
	start := time.Now()
	err := l.RateLimiter.Wait(ctx)
	l.m.ClientWait(ctx, time.Since(start))
	return err
}
