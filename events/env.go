// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"strings"

	"github.com/proompteng/controllerkit/internal/env"
)

const maxPerMinute = 6000

// Names are the environment variables that [FromEnv] reads. A field that is empty stands for the name in its comment, so
// the zero value is the JANGAR_ set; [AgentsNames] is the other one in use. Both are the names of the service that these
// settings come from; a controller with names of its own puts them here.
type Names struct {
	// Enabled is JANGAR_CONTROLLER_EVENTS_ENABLED: a boolean, default true.
	Enabled string
	// PerMinute is JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN: writes about one object in any minute, 1 to 6000, default 5.
	PerMinute string
	// Instance is POD_NAME, as the downward API provides it; default the hostname.
	Instance string

	_ struct{} // keyed literals only
}

// AgentsNames are AGENTS_CONTROLLER_EVENTS_ENABLED, AGENTS_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN and POD_NAME.
func AgentsNames() Names {
	return Names{
		Enabled:   "AGENTS_CONTROLLER_EVENTS_ENABLED",
		PerMinute: "AGENTS_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN",
	}
}

// FromEnv reads Disabled, PerMinute and Instance; lookup is usually os.LookupEnv, and an error if nil. A variable that is
// unset, empty or blank yields the default. A malformed one is an error that names it, what it held and what it may hold; all
// of them are reported, and the Options are zero then. The names begin with JANGAR_ unless names says otherwise, each of them.
//
// The other options have no variable: set them on what is returned, such as Scheme. Where one is read from a variable of your own,
// refuse 0 there: a zero Quiet means 10 minutes.
func FromEnv(lookup func(name string) (value string, set bool), names Names) (Options, error) {
	if lookup == nil {
		return Options{}, errors.New("events: fromenv: lookup is nil; pass os.LookupEnv")
	}
	var errs []error
	enabled, err := env.Bool(lookup, or(names.Enabled, "JANGAR_CONTROLLER_EVENTS_ENABLED"), true)
	if err != nil {
		errs = append(errs, fmt.Errorf("events: %w", err))
	}
	n, err := env.Int(lookup, or(names.PerMinute, "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN"), 0, 1, maxPerMinute)
	if err != nil {
		errs = append(errs, fmt.Errorf("events: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return Options{}, err
	}
	instance, _ := lookup(or(names.Instance, "POD_NAME"))
	return Options{Disabled: !enabled, PerMinute: n, Instance: strings.TrimSpace(instance)}, nil
}
