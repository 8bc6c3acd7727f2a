// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
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

// check accepts the options.
func (o Options) check() error {
	if o.MaxControllers >= 0 {
		return nil
	}
	return fmt.Errorf("%w: Options.MaxControllers: %d is not accepted; want a positive number, "+
		"or 0 for %d", ErrOption, o.MaxControllers, defaultControllers)
}
