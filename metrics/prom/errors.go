// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"fmt"
	"strings"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
)

// errorLog is promhttp's logger. It counts the errors like promhttp, under the
// same name, and passes them on. It needs no registry, which each scrape would
// have to gather. A nil onError is silent.
type errorLog struct {
	onError             func(error)
	gathering, encoding atomic.Uint64
}

// Println is called with one error, after a description of the failure.
func (l *errorLog) Println(v ...any) {
	description := fmt.Sprint(v[:min(1, len(v))]...)
	if strings.Contains(description, "gathering") {
		l.gathering.Add(1)
	} else {
		l.encoding.Add(1)
	}
	if l.onError == nil {
		return
	}
	for _, x := range v {
		if err, ok := x.(error); ok {
			l.onError(err)
			return
		}
	}
	l.onError(fmt.Errorf("metrics/prom: %s", fmt.Sprint(v...)))
}

// family is the counter.
func (l *errorLog) family() *dto.MetricFamily {
	name := "promhttp_metric_handler_errors_total"
	help := "Total number of internal errors encountered by the promhttp metric handler."
	counter := func(cause string, n uint64) *dto.Metric {
		label := "cause"
		value := float64(n)
		return &dto.Metric{
			Label:   []*dto.LabelPair{{Name: &label, Value: &cause}},
			Counter: &dto.Counter{Value: &value},
		}
	}
	return &dto.MetricFamily{
		Name: &name,
		Help: &help,
		Type: dto.MetricType_COUNTER.Enum(),
		Metric: []*dto.Metric{
			counter("encoding", l.encoding.Load()),
			counter("gathering", l.gathering.Load()),
		},
	}
}
