// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog is the table of instruments that package metrics creates.
//
// Dashboards, alerts and documents break in silence when a metric is renamed. Here every instrument is one row, and
// whoever needs a name takes it from the row: a query built from a field of [Table] stops compiling when the
// instrument goes, and a label that the row does not list can be refused before anything is rendered.
//
//	t := catalog.Instruments()
//	query := "sum(rate(" + t.Reconciles.PrometheusName() + "[5m])) by (controller)"
//
// The package imports the standard library only. A row is a copy: changing it changes nothing elsewhere.
//
// # When not to use it
//
// To add instruments of your own, use the meter provider directly; this table is closed.
package catalog

// Instrument is one row: everything that fixes the identity of a metric.
type Instrument struct {
	// Name is the OpenTelemetry name: dotted, without unit and without "total".
	Name string
	// Unit is a UCUM unit: "s", an annotation such as "{item}", or empty.
	Unit string
	// Kind is the type of the instrument.
	Kind Kind
	// Attributes are the only labels a query may use besides the target's own (job, instance, namespace, pod).
	Attributes []string
	// Description is the help text, the same in every exporter.
	Description string
	// Buckets are the upper bounds of a histogram, in seconds; empty for other kinds.
	Buckets []float64
}

// Kind is the type of an instrument. Its zero value is [Counter].
type Kind uint8

// The kinds of instruments.
const (
	// Counter only grows, so rate() is its function.
	Counter Kind = iota
	// UpDownCounter is a number of things that exist now; sums over processes make sense.
	UpDownCounter
	// Gauge is a value that cannot be summed over processes without thought.
	Gauge
	// Histogram counts durations in buckets.
	Histogram
)

// String returns the name of the kind in the words of OpenTelemetry, "unknown" for a value that is none.
func (k Kind) String() string {
	switch k {
	case Counter:
		return "counter"
	case UpDownCounter:
		return "updowncounter"
	case Gauge:
		return "gauge"
	case Histogram:
		return "histogram"
	}
	return "unknown"
}
