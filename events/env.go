// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"

	"github.com/proompteng/controllerkit/internal/env"
)

const maxPerMinute = 6000

// Names are the environment variables that [FromEnv] reads. A field that is empty stands for the name in its comment, so
// the zero value is the JANGAR_ set; [AgentsNames] is the other one in use.
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

// FromEnv reads Disabled, PerMinute and Instance; lookup is usually os.LookupEnv. A variable that is unset, empty or blank
// yields the default. A malformed one is an error that names it, what it held and what it may hold.
func FromEnv(lookup func(name string) (value string, set bool), names Names) (Options, error) {
	enabled, err := env.Bool(lookup, or(names.Enabled, "JANGAR_CONTROLLER_EVENTS_ENABLED"), true)
	if err != nil {
		return Options{}, fmt.Errorf("events: %w", err)
	}
	n, err := env.Int(lookup, or(names.PerMinute, "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN"), 0, 1, maxPerMinute)
	if err != nil {
		return Options{}, fmt.Errorf("events: %w", err)
	}
	instance, _ := lookup(or(names.Instance, "POD_NAME"))
	return Options{Disabled: !enabled, PerMinute: n, Instance: instance}, nil
}
