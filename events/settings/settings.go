// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings reads the options of package events from the environment.
package settings

import (
	"errors"
	"fmt"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/env"
)

const maxWritesPerMinute = 6000 // what events.New accepts

// EnvNames has the names of the environment variables that [FromEnv] reads. An
// empty field reads no variable: its default applies. [JangarNames] and
// [AgentsNames] are the sets of two services of proompteng.
type EnvNames struct {
	// Enabled is the name of the variable with a boolean: 1, t, true, yes, on,
	// 0, f, false, no or off, in any case. The default is true.
	Enabled string
	// WritesPerMinute is the name of the variable with the number of writes
	// about one object in any minute, 1 to 6000. The default is 5.
	WritesPerMinute string
	// Instance is the name of the variable with the name of the pod, as the
	// downward API provides it. The default is the hostname.
	Instance string

	_ struct{} // keyed literals only
}

// JangarNames returns the names that proompteng's Jangar service uses:
// JANGAR_CONTROLLER_EVENTS_ENABLED, JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN
// and POD_NAME.
func JangarNames() EnvNames {
	return EnvNames{
		Enabled:         "JANGAR_CONTROLLER_EVENTS_ENABLED",
		WritesPerMinute: "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN",
		Instance:        "POD_NAME",
	}
}

// AgentsNames returns the names that proompteng's Agents service uses:
// AGENTS_CONTROLLER_EVENTS_ENABLED, AGENTS_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN
// and POD_NAME.
func AgentsNames() EnvNames {
	return EnvNames{
		Enabled:         "AGENTS_CONTROLLER_EVENTS_ENABLED",
		WritesPerMinute: "AGENTS_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN",
		Instance:        "POD_NAME",
	}
}

// FromEnv reads Disabled, WritesPerMinute and Instance. Pass os.LookupEnv as
// lookup. A nil lookup and the zero names are errors. A variable that is unset,
// empty or blank yields the default. A malformed value is an error that names
// the variable, the value and the accepted values. FromEnv reports all of them
// and then returns zero options.
//
// The other options have no variable: set them on the result, such as Scheme.
// Zero in an option means its default. If you read an option from your own
// variable, treat 0 as an error.
func FromEnv(
	lookup func(name string) (value string, set bool), names EnvNames,
) (events.Options, error) {
	if lookup == nil {
		return events.Options{}, errors.New("events/settings: fromEnv: lookup is nil; pass os.LookupEnv")
	}
	if names == (EnvNames{}) {
		return events.Options{}, errors.New("events/settings: fromEnv: names is empty; " +
			"pass JangarNames(), AgentsNames() or an EnvNames with the names of your variables")
	}
	var errs []error
	enabled, err := env.Bool(lookup, names.Enabled, true)
	if err != nil {
		errs = append(errs, fmt.Errorf("events/settings: %w", err))
	}
	n, err := env.Int(lookup, names.WritesPerMinute, 0, 1, maxWritesPerMinute)
	if err != nil {
		errs = append(errs, fmt.Errorf("events/settings: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return events.Options{}, err
	}
	return events.Options{
		Disabled:        !enabled,
		WritesPerMinute: n,
		Instance:        env.String(lookup, names.Instance),
	}, nil
}
