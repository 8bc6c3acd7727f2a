// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OTLP collector for http/protobuf that keeps its exports.
type receiver struct {
	url string

	mu sync.Mutex
	received
}

type received struct {
	requests int
	services map[string]bool
	spans    map[string]*spanpb.Span // by trace ID
	metrics  map[string]bool
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{received: received{services: map[string]bool{}, spans: map[string]*spanpb.Span{}, metrics: map[string]bool{}}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// seen returns what was received so far.
func (r *receiver) seen() received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return received{r.requests, maps.Clone(r.services), maps.Clone(r.spans), maps.Clone(r.metrics)}
}

// ServeHTTP accepts one export. Anything but OTLP is a bad request, which the
// exporter logs.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	var traces tracepb.ExportTraceServiceRequest
	var metrics metricspb.ExportMetricsServiceRequest
	body, err := io.ReadAll(req.Body)
	switch req.URL.Path {
	case "/v1/traces":
		err = errors.Join(err, proto.Unmarshal(body, &traces))
	case "/v1/metrics":
		err = errors.Join(err, proto.Unmarshal(body, &metrics))
	default:
		err = errors.New("not a path of OTLP")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, resource := range traces.GetResourceSpans() {
		r.services[texts(resource.GetResource().GetAttributes())["service.name"]] = true
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans[hex.EncodeToString(s.GetTraceId())] = s
			}
		}
	}
	for _, resource := range metrics.GetResourceMetrics() {
		r.services[texts(resource.GetResource().GetAttributes())["service.name"]] = true
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				r.metrics[m.GetName()] = true
			}
		}
	}
}

func texts(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		all[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return all
}
