// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
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

	mu       sync.Mutex
	requests int
	services map[string]bool
	spans    map[string]span // by trace ID
	metrics  map[string]bool
}

// span has the fields that are compared with logs and exemplars.
type span struct {
	name, message string
	failed        bool
	attributes    map[string]string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{services: map[string]bool{}, spans: map[string]span{}, metrics: map[string]bool{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP accepts one export. Anything but OTLP is a bad request, which the
// exporter logs.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	data, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	switch req.URL.Path {
	case "/v1/traces":
		err = r.traces(data)
	case "/v1/metrics":
		err = r.measurements(data)
	default:
		http.NotFound(w, req)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (r *receiver) traces(data []byte) error {
	var export tracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &export); err != nil {
		return err
	}
	for _, resource := range export.GetResourceSpans() {
		r.services[texts(resource.GetResource().GetAttributes())["service.name"]] = true
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans[hex.EncodeToString(s.GetTraceId())] = span{
					name: s.GetName(), message: s.GetStatus().GetMessage(),
					failed:     s.GetStatus().GetCode() == spanpb.Status_STATUS_CODE_ERROR,
					attributes: texts(s.GetAttributes()),
				}
			}
		}
	}
	return nil
}

func (r *receiver) measurements(data []byte) error {
	var export metricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(data, &export); err != nil {
		return err
	}
	for _, resource := range export.GetResourceMetrics() {
		r.services[texts(resource.GetResource().GetAttributes())["service.name"]] = true
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				r.metrics[m.GetName()] = true
			}
		}
	}
	return nil
}

func texts(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		all[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return all
}

// span returns the span of a trace, if it was received.
func (r *receiver) span(trace string) (span, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.spans[trace]
	return s, ok
}

// has reports whether a metric was received.
func (r *receiver) has(metric string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metrics[metric]
}

// seen returns the number of exports and their services.
func (r *receiver) seen() (requests int, services []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.services {
		services = append(services, s)
	}
	return r.requests, services
}
