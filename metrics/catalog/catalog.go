// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog is the table of instruments that package metrics creates.
//
// A renamed metric breaks dashboards, alerts and documents without an error.
// Here every instrument is one row, and code takes the name from the row. A
// query built from a field of [Table] stops compiling when the instrument is
// removed. A renderer can refuse a label that the row does not list.
//
//	t := catalog.Instruments()
//	query := "sum(rate(" + t.Reconciles.PrometheusName() + "[5m])) by (controller)"
//
// The package imports the standard library only. A row is a copy: changing it
// changes nothing elsewhere.
//
// # When not to use it
//
// To add your own instruments, use the meter provider directly; this table is
// closed.
package catalog

// Instrument is one row: everything that fixes the identity of a metric.
type Instrument struct {
	// Name is the OpenTelemetry name: dotted, without unit and without "total".
	Name string
	// Unit is a UCUM unit: "s", an annotation such as "{item}", or empty.
	Unit string
	// Kind is the type of the instrument.
	Kind Kind
	// Attributes are the only labels a query may use besides the target's own
	// (job, instance, namespace, pod).
	Attributes []string
	// Description is the help text, the same in every exporter.
	Description string
	// Buckets are the upper bounds of a histogram, in seconds; empty for other
	// kinds.
	Buckets []float64
}

// Kind is the type of an instrument. Its zero value is [Counter].
type Kind uint8

// The kinds of instruments.
const (
	// Counter only grows, so rate() is its function.
	Counter Kind = iota
	// UpDownCounter is a number of things that exist now; sums over processes
	// make sense.
	UpDownCounter
	// Gauge is a value that cannot be summed over processes without thought.
	Gauge
	// Histogram counts durations in buckets.
	Histogram
)

// String returns OpenTelemetry's name of the kind, or "unknown" for an
// undefined value.
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
