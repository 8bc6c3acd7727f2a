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

// Request is the class of a request to the API server. It never holds the name
// of an object.
type Request struct {
	// Verb is the verb of RBAC, such as "list" or "patch".
	Verb string
	// Group and Resource are taken from the path, such as "batch" and
	// "jobs/status"; the core group is "".
	Group, Resource string
	// Code is the class of the status code, such as "2xx", or a word for a
	// request without one.
	Code string
}

// maxRequests bounds the classes with their own series. maxFolded bounds the
// classes beyond it, which keep only verb and code.
const (
	maxRequests = 256
	maxFolded   = 64
)

// ClientRequest records one request to the API server, and the exemplar when
// ctx carries a sampled span. The Transport of package metrics/kube calls it
// with verbs and codes from closed sets. A negative took counts as zero.
//
// The counter controller.client.requests has each of the codes "2xx", "3xx",
// "4xx", "429", "5xx", "canceled" and "error" from zero on. Any other code is
// "other" there. After 256 different classes, new ones have group and resource
// "other". After 64 more, all four labels are "other". Both are counted in
// controller.label_overflows, as are values that are too long or not UTF-8.
func (m *Metrics) ClientRequest(ctx context.Context, r Request, took time.Duration) {
	if m == nil {
		return
	}
	m.codes.add(r.Code, 1)
	options, ok := m.requestOptions()[r]
	if !ok {
		options = m.addRequest(r)
	}
	record(ctx, m.inst.requestDuration, took, options)
}

// ClientWait records how long a request waited for the client's own rate
// limiter. The Limiter of package metrics/kube calls it. A negative took counts
// as zero.
func (m *Metrics) ClientWait(ctx context.Context, took time.Duration) {
	if m != nil {
		record(ctx, m.inst.limiterWait, took, nil)
	}
}

func (m *Metrics) requestOptions() map[Request][]metric.RecordOption {
	return *m.requests.Load()
}

// addRequest makes the class of r known, folded as far as the bounds demand.
func (m *Metrics) addRequest(r Request) []metric.RecordOption {
	m.mu.Lock()
	defer m.mu.Unlock()
	have := m.requestOptions()
	if len(have) >= maxRequests || !r.usable() {
		m.overflows.add(labelResource, 1)
		r.Group = other
		r.Resource = other
		if _, ok := have[r]; !ok && (len(have) >= maxRequests+maxFolded || !r.usable()) {
			r = Request{other, other, other, other}
		}
	}
	if options, ok := have[r]; ok {
		return options
	}
	next := map[Request][]metric.RecordOption{r: recorded(
		attribute.String("verb", r.Verb),
		attribute.String("group", r.Group),
		attribute.String("resource", r.Resource),
		attribute.String("code", r.Code))}
	maps.Copy(next, have)
	m.requests.Store(&next)
	return next[r]
}

// usable allows empty values: the core group has no name, and a path without a
// resource has neither group nor resource.
func (r Request) usable() bool {
	for _, v := range []string{r.Verb, r.Group, r.Resource, r.Code} {
		if v != "" && !usable(v) {
			return false
		}
	}
	return true
}
