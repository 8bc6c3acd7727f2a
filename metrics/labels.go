// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// other is the label value of whatever goes beyond a bound.
const other = "other"

// The labels whose values come from outside and are bounded.
const (
	overflowController = iota
	overflowLease
	overflowCondition
	overflowResource
	overflowCount
)

// overflow counts the values of one label that were folded into "other" or left out.
type overflow struct {
	count   atomic.Int64
	observe []metric.ObserveOption
}

func (m *Metrics) labelOverflows() {
	for i, label := range [overflowCount]string{"controller", "lease", "condition", "resource"} {
		m.overflows[i].observe = observed(attribute.String("label", label))
	}
}

// maxValue is the longest label value, the length of the longest name in Kubernetes.
const maxValue = 253

// observed and recorded build the options of one attribute set. They are built once and passed as a slice, because
// building them per call allocates.
func observed(kv ...attribute.KeyValue) []metric.ObserveOption {
	return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(kv...))}
}

func recorded(kv ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(kv...))}
}
