// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"sync"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
)

// observations are the values that one call of a callback observed. They go to
// the SDK after the callback has returned. A callback that is late therefore
// adds nothing to a later collection. It is safe for concurrent use.
type observations struct {
	mu      sync.Mutex
	all     []observation
	options []metric.ObserveOption // of all
}

// observation is one value.
type observation struct {
	integer int64
	float   float64
	of      metric.Int64Observable   // one of the two, or neither if
	ofFloat metric.Float64Observable // the callback has one instrument
	options int                      // how many
}

// newObservations has room for that many values.
func newObservations(size int) *observations {
	return &observations{
		all:     make([]observation, 0, size),
		options: make([]metric.ObserveOption, 0, size),
	}
}

func (s *observations) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *observations) add(o observation, options []metric.ObserveOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.options = len(options)
	s.all = append(s.all, o)
	s.options = append(s.options, options...) // the caller may use its slice again
}

// each calls f with each value.
func (s *observations) each(f func(o observation, options []metric.ObserveOption)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	all := s.all
	options := s.options
	s.mu.Unlock()
	for _, o := range all {
		f(o, options[:o.options])
		options = options[o.options:]
	}
}

func (s *observations) replay(to metric.Observer) {
	s.each(func(o observation, options []metric.ObserveOption) {
		if o.ofFloat != nil {
			to.ObserveFloat64(o.ofFloat, o.float, options...)
			return
		}
		to.ObserveInt64(o.of, o.integer, options...)
	})
}

func (s *observations) replayInt64(to metric.Int64Observer) {
	s.each(func(o observation, options []metric.ObserveOption) {
		to.Observe(o.integer, options...)
	})
}

func (s *observations) replayFloat64(to metric.Float64Observer) {
	s.each(func(o observation, options []metric.ObserveOption) {
		to.Observe(o.float, options...)
	})
}

// observer takes the values of a callback that has several instruments.
type observer struct {
	embedded.Observer
	*observations
}

func (o observer) ObserveInt64(
	i metric.Int64Observable,
	value int64,
	options ...metric.ObserveOption,
) {
	o.add(observation{of: i, integer: value}, options)
}

func (o observer) ObserveFloat64(
	i metric.Float64Observable,
	value float64,
	options ...metric.ObserveOption,
) {
	o.add(observation{ofFloat: i, float: value}, options)
}

// int64Observer takes the values of one instrument.
type int64Observer struct {
	embedded.Int64Observer
	*observations
}

func (o int64Observer) Observe(value int64, options ...metric.ObserveOption) {
	o.add(observation{integer: value}, options)
}

// float64Observer takes the values of one instrument.
type float64Observer struct {
	embedded.Float64Observer
	*observations
}

func (o float64Observer) Observe(value float64, options ...metric.ObserveOption) {
	o.add(observation{float: value}, options)
}
