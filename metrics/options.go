// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// Errors of [New]. The message states the accepted values.
var (
	// ErrNoProvider is returned for a nil meter provider, or one without a
	// meter. Nothing falls back to OpenTelemetry's global one.
	ErrNoProvider = errors.New("metrics: no usable meter provider")
	// ErrOption is wrapped by the error that names each field of Options that
	// cannot be used.
	ErrOption = errors.New("metrics: invalid option")
)

// Options of a set of instruments. The zero value is the recommended behaviour.
type Options struct {
	// Buckets replaces the upper bounds of histograms, in seconds, by the
	// OpenTelemetry name of the instrument, for example
	// "controller.run.duration". Bounds must be finite and strictly increasing,
	// and there must be at least one. The alert ControllerReconcileSlow needs a
	// bound above its threshold (30 s by default), because no quantile
	// is above the last one. Zero means the bounds of the catalogue: 0.1 ms to
	// 5 min for a reconcile (package catalog has each).
	Buckets map[string][]float64
	// MaxControllers bounds the number of controller names; later ones share
	// the name "other". Zero means 150. This keeps every instrument below 2000
	// attribute sets, the default limit at which OpenTelemetry's SDK drops all
	// labels. For more than 190 raise that limit too
	// (prom.Options.CardinalityLimit).
	MaxControllers int

	_ struct{} // keyed literals only, so that fields can be added
}

// defaultControllers times ten, the longest list of results, stays below the
// SDK's default limit of 2000.
const defaultControllers = 150

// table is the catalogue with the options applied. The error has each option
// that cannot be used.
func (o Options) table() (catalog.Table, error) {
	t := catalog.Instruments()
	var errs []error
	if o.MaxControllers < 0 {
		errs = append(errs, fmt.Errorf("%w: Options.MaxControllers: %d is not accepted; want a "+
			"positive number, or 0 for %d", ErrOption, o.MaxControllers, defaultControllers))
	}
	histograms := map[string]*[]float64{}
	for _, i := range []*catalog.Instrument{
		&t.ReconcileDuration,
		&t.QueueWait,
		&t.RunDuration,
		&t.StatusWriteDuration,
		&t.ClientRequestDuration,
		&t.ClientLimiterWait,
	} {
		histograms[i.Name] = &i.Buckets
	}
	for _, name := range slices.Sorted(maps.Keys(o.Buckets)) {
		target, ok := histograms[name]
		if !ok {
			errs = append(errs, fmt.Errorf("%w: Options.Buckets[%q]: no such histogram; want "+
				"one of %q", ErrOption, name, slices.Sorted(maps.Keys(histograms))))
			continue
		}
		if err := checkBounds(o.Buckets[name]); err != nil {
			errs = append(errs, fmt.Errorf("%w: Options.Buckets[%q]%w", ErrOption, name, err))
			continue
		}
		*target = o.Buckets[name]
	}
	return t, errors.Join(errs...)
}

// checkBounds accepts bounds that let every backend compute a quantile. A
// quantile needs a finite bound.
func checkBounds(bounds []float64) error {
	if len(bounds) == 0 {
		return errors.New(" is empty; want at least one bound")
	}
	for i, b := range bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return fmt.Errorf("[%d]: %v is not accepted; want a finite number of seconds", i, b)
		}
		if i > 0 && b <= bounds[i-1] {
			last := bounds[i-1]
			return fmt.Errorf("[%d]: %v after %v is not accepted; want increasing bounds", i, b, last)
		}
	}
	return nil
}
