// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// other is the label value that replaces values beyond a bound.
const other = "other"

// The labels whose values come from outside and are bounded. Values beyond the
// bound are folded into "other" or left out.
const (
	labelController = "controller"
	labelLease      = "lease"
	labelCondition  = "condition"
	labelResource   = "resource"
)

func boundedLabels() []string {
	return []string{labelController, labelLease, labelCondition, labelResource}
}

// maxValue is the longest label value, the length of the longest name in
// Kubernetes.
const maxValue = 253

// observed and recorded build the options of one attribute set. They are built
// once and passed as a slice, because building them per call allocates.
func observed(kv ...attribute.KeyValue) []metric.ObserveOption {
	return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(kv...))}
}

func recorded(kv ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(kv...))}
}
