// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import sdkmetric "go.opentelemetry.io/otel/sdk/metric"

// views are Options.Views with the reservoir of base, and base for the
// instruments that none of them matches. With two matching views an instrument
// would have two streams.
func (o Options) views(base sdkmetric.View) []sdkmetric.View {
	var all []sdkmetric.View
	for n, view := range o.Views {
		all = append(all, func(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
			if matches(o.Views[:n], i) {
				return sdkmetric.Stream{}, false
			}
			stream, ok := view(i)
			kept, based := base(i)
			if ok && based && stream.ExemplarReservoirProviderSelector == nil {
				stream.ExemplarReservoirProviderSelector = kept.ExemplarReservoirProviderSelector
			}
			return stream, ok
		})
	}
	return append(all, func(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
		if matches(o.Views, i) {
			return sdkmetric.Stream{}, false
		}
		return base(i)
	})
}

func matches(views []sdkmetric.View, i sdkmetric.Instrument) bool {
	for _, view := range views {
		_, ok := view(i)
		if ok {
			return true
		}
	}
	return false
}
