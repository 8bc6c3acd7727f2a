// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Request is the class of a request to the API server. It never holds the name of an object.
type Request struct {
	// Verb is the verb of RBAC, such as "list" or "patch".
	Verb string
	// Group and Resource are those of the path, such as "batch" and "jobs/status"; the core group is "".
	Group, Resource string
	// Code is the class of the status code, such as "2xx", or a word for what has none.
	Code string
}

// maxRequests bounds the classes that are told apart.
const maxRequests = 256

// ClientRequest records one request to the API server, and the exemplar when ctx carries a sampled span. After 256
// different classes the group and resource of new ones are "other", and verb and code must be among those seen;
// package metrics/kube calls it with values from closed sets.
func (m *Metrics) ClientRequest(ctx context.Context, r Request, took time.Duration) {
	if m == nil {
		return
	}
	options, ok := m.requestOptions()[r]
	if !ok {
		options = m.addRequest(r)
	}
	m.inst.requestDuration.Record(ctx, max(0, took).Seconds(), options...)
}

// ClientWait records how long a request waited for the client's own rate limiter.
func (m *Metrics) ClientWait(ctx context.Context, took time.Duration) {
	if m != nil {
		m.inst.limiterWait.Record(ctx, max(0, took).Seconds())
	}
}

func (m *Metrics) requestOptions() map[Request][]metric.RecordOption {
	if p := m.requests.Load(); p != nil {
		return *p
	}
	return nil
}

func (m *Metrics) addRequest(r Request) []metric.RecordOption {
	m.mu.Lock()
	defer m.mu.Unlock()
	have := m.requestOptions()
	if len(have) >= maxRequests {
		m.overflows[overflowResource].count.Add(1)
		r = Request{Verb: other, Group: other, Resource: other, Code: other}
	}
	if options, ok := have[r]; ok {
		return options
	}
	options := recorded(attribute.String("verb", r.Verb), attribute.String("group", r.Group),
		attribute.String("resource", r.Resource), attribute.String("code", r.Code))
	next := maps.Clone(have)
	if next == nil {
		next = map[Request][]metric.RecordOption{}
	}
	next[r] = options
	m.requests.Store(&next)
	return options
}
