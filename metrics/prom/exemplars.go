// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"context"
	"slices"
	"sort"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/trace"
)

// noExemplars is the view that gives each instrument a reservoir that costs
// nothing. The SDK makes its own reservoirs even when no exemplar can get into
// them, at every collection for each series of an observable instrument.
func noExemplars(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	return sdkmetric.Stream{
		Name: i.Name, Description: i.Description, Unit: i.Unit,
		ExemplarReservoirProviderSelector: func(sdkmetric.Aggregation) exemplar.ReservoirProvider {
			return func(attribute.Set) exemplar.Reservoir { return none{} }
		},
	}, true
}

// none keeps no exemplars.
type none struct{}

// Offer drops the measurement.
func (none) Offer(context.Context, time.Time, exemplar.Value, []attribute.KeyValue) {}

// Collect lists no exemplars.
func (none) Collect(dest *[]exemplar.Exemplar) { *dest = (*dest)[:0] }

// newestPerBucket is the view that gives each histogram a custom reservoir. It
// holds one exemplar per bucket, as OpenTelemetry's specification requires for
// fixed buckets. It keeps the newest to within a second, which the
// specification allows. The SDK's reservoir allocates an exemplar for every
// bucket of every series in advance, which is most of the memory of a
// histogram, and samples at random.
func newestPerBucket(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	if i.Kind != sdkmetric.InstrumentKindHistogram {
		return sdkmetric.Stream{}, false
	}
	return sdkmetric.Stream{
		Name: i.Name, Description: i.Description, Unit: i.Unit,
		ExemplarReservoirProviderSelector: func(a sdkmetric.Aggregation) exemplar.ReservoirProvider {
			explicit, ok := a.(sdkmetric.AggregationExplicitBucketHistogram)
			if !ok {
				// Exponential: the buckets move.
				return sdkmetric.DefaultExemplarReservoirProviderSelector(a)
			}
			bounds := slices.Clone(explicit.Boundaries) // shared by all series of the histogram
			return func(attribute.Set) exemplar.Reservoir { return &reservoir{bounds: bounds} }
		},
	}, true
}

// reservoir keeps the exemplars of one series. The SDK locks around its
// methods.
type reservoir struct {
	bounds []float64
	kept   []kept // of the buckets that have one, in no order
}

// kept is one exemplar, in 64 bytes.
type kept struct {
	bucket int32
	trace  trace.TraceID
	span   trace.SpanID
	at     int64 // Unix nanoseconds
	value  exemplar.Value
}

// stays is how long an exemplar is not replaced. No scrape would show the
// difference, and each reconcile saves the work.
const stays = int64(time.Second)

// Offer keeps the measurement unless its bucket has an exemplar of the last
// second. An exemplar in the future, because the clock was set back, is
// replaced too. No view here drops attributes, so none are passed.
func (r *reservoir) Offer(ctx context.Context, t time.Time, v exemplar.Value, _ []attribute.KeyValue) {
	n := v.Float64()
	if v.Type() == exemplar.Int64ValueType {
		n = float64(v.Int64())
	}
	bucket := int32(sort.SearchFloat64s(r.bounds, n)) //nolint:gosec // there are not that many bounds
	k := r.of(bucket)
	at := t.UnixNano()
	since := at - k.at
	if since >= 0 && since < stays {
		return
	}
	span := trace.SpanContextFromContext(ctx)
	k.trace = span.TraceID()
	k.span = span.SpanID()
	k.at = at
	k.value = v
}

// of returns the place of a bucket's exemplar.
func (r *reservoir) of(bucket int32) *kept {
	for i := range r.kept {
		if r.kept[i].bucket == bucket {
			return &r.kept[i]
		}
	}
	if r.kept == nil {
		r.kept = make([]kept, 0, 1) // most results are always about as fast
	}
	r.kept = append(r.kept, kept{bucket: bucket})
	return &r.kept[len(r.kept)-1]
}

// Collect lists the exemplars, whose slices the SDK hands in again.
func (r *reservoir) Collect(dest *[]exemplar.Exemplar) {
	all := slices.Grow((*dest)[:0], len(r.kept))[:len(r.kept)]
	for i, k := range r.kept {
		all[i] = exemplar.Exemplar{
			Time: time.Unix(0, k.at), Value: k.value,
			TraceID: append(all[i].TraceID[:0], k.trace[:]...),
			SpanID:  append(all[i].SpanID[:0], k.span[:]...),
		}
	}
	*dest = all
}
