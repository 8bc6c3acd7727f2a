// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings reads progressiveDelivery.{enabled,provider,canarySteps}
// from chart values or the environment.
//
// A misspelt switch would leave a canary off without an error, and a misspelt
// step would leave it without a test. So an unknown key, a wrong type and a
// step that cannot be carried out are errors. They name the path or the
// variable and the accepted values, all in one call, and also while the switch
// is off:
//
//	s, errs := settings.FromValues(values["progressiveDelivery"])
//	if len(errs) > 0 {
//		return nil, errs.ToAggregate() // s is zero, which is off: do not go on
//	}
//	return rollout.Render(deployment, s.Enabled, s.Options)
//
// Values are what sigs.k8s.io/yaml or encoding/json decode: maps with string
// keys.
//
// Nothing set means off, the provider argo-rollouts and the safe canary. Where
// two workloads are switched one after the other, read each from separate
// values or variables.
//
// # When not to use it
//
// If your program has other settings, fill in rollout.Options. rollout.Convert
// checks them.
package settings
