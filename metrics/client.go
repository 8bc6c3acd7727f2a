// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"
)

// Request is the class of a request to the API server. It never holds the name
// of an object.
type Request struct {
	// Verb is the verb of RBAC, such as "list" or "patch".
	Verb string
	// Group and Resource are taken from the path, such as "batch" and
	// "jobs/status"; the core group is "".
	Group, Resource string
	// Code is the status code or its class, such as "429" or "2xx", or a word
	// for a request without one.
	Code string
}

// ClientRequest counts one request to the API server and records its duration,
// with an exemplar when ctx carries a sampled span. The Transport of package
// metrics/kube calls it. A negative took counts as zero.
func (m *Metrics) ClientRequest(ctx context.Context, r Request, took time.Duration) {
	if m == nil {
		return
	}
	class := m.attributes(label("verb", r.Verb), label("group", r.Group),
		label("resource", r.Resource), label("code", r.Code))
	m.set.requests.Add(ctx, 1, class)
	record(ctx, m.set.requestDuration, took, class)
}
