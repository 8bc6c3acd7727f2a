// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/env"
	"github.com/proompteng/controllerkit/rollout"
)

// provider is the only one there is.
const provider = "argo-rollouts"

// Settings are what rollout.Render takes. The zero value is off.
type Settings struct {
	// Enabled renders a Rollout. False renders the Deployment.
	Enabled bool
	// Options has Steps if canarySteps is set; without, the safe canary.
	Options rollout.Options

	_ struct{}
}

// FromValues reads the progressiveDelivery of chart values. Nil and the empty
// object are off. The chart's own keys, crdCheck (auto, fail or skip) and
// keepOnSwitch, are checked too, and are for the chart alone. Where anything is
// wrong the Settings are zero.
//
//	enabled      false          true or false
//	provider     argo-rollouts  no other
//	canarySteps  the safe one   a list such as [{setWeight: 20}, {pause: {}}, {setWeight: 50}, {pause: {duration: 10m}}]
func FromValues(values any) (Settings, field.ErrorList) {
	var s Settings
	root := field.NewPath("progressiveDelivery")
	m, ok := values.(map[string]any)
	if !ok && values != nil {
		return s, field.ErrorList{field.TypeInvalid(root, field.OmitValueType{}, "want an object with enabled, provider and canarySteps")}
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(m)) {
		path, value := root.Child(key), m[key]
		if value == nil {
			continue
		}
		switch key {
		case "enabled":
			s.Enabled = boolean(value, path, &errs)
		case "keepOnSwitch":
			boolean(value, path, &errs)
		case "provider":
			oneOf(value, path, &errs, provider)
		case "crdCheck":
			oneOf(value, path, &errs, "auto", "fail", "skip")
		case "canarySteps":
			steps, more := readSteps(value, path)
			s.Options.Steps, errs = steps, append(errs, more...)
		default:
			errs = append(errs, field.Forbidden(path, "unknown key; there are enabled, provider, canarySteps, crdCheck, keepOnSwitch"))
		}
	}
	if len(errs) > 0 {
		return Settings{}, errs
	}
	return s, nil
}

func boolean(value any, path *field.Path, errs *field.ErrorList) bool {
	b, ok := value.(bool)
	if !ok {
		*errs = append(*errs, field.TypeInvalid(path, value, "want true or false"))
	}
	return b
}

func oneOf(value any, path *field.Path, errs *field.ErrorList, accepted ...string) {
	if s, ok := value.(string); !ok || !slices.Contains(accepted, s) {
		*errs = append(*errs, field.NotSupported(path, fmt.Sprint(value), accepted))
	}
}

// readSteps checks the steps in a Rollout that is otherwise right, and has
// pods enough for any weight.
func readSteps(value any, path *field.Path) ([]rollout.Step, field.ErrorList) {
	const in = "spec.strategy.canary.steps"
	list, ok := value.([]any)
	if !ok {
		return nil, field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, "want a list such as [{setWeight: 20}, {pause: {}}]")}
	}
	if len(list) == 0 {
		return nil, nil
	}
	var errs field.ErrorList
	problems := rollout.Validate(&unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"replicas": 100, "strategy": map[string]any{"canary": map[string]any{"maxSurge": 1, "maxUnavailable": 0, "steps": list}}},
	}})
	var steps []rollout.Step
	readable := !slices.ContainsFunc(problems, func(e *field.Error) bool { return strings.HasPrefix(e.Field, in) })
	if data, err := json.Marshal(list); readable && err == nil && json.Unmarshal(data, &steps) == nil {
		r := &rollout.Rollout{}
		r.Spec.Replicas, r.Spec.Strategy.Canary = ptr.To[int32](100), &rollout.Canary{
			MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)), Steps: steps,
		}
		problems = append(problems, r.Warnings()...)
	}
	for _, e := range problems {
		if rest, ok := strings.CutPrefix(e.Field, in); ok {
			e.Field = path.String() + rest
			errs = append(errs, e)
		} else if e.Field == "spec" { // not JSON
			e.Field = path.String()
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return steps, nil
}

// EnvNames are the names of the environment variables that FromEnv reads. An
// empty field has no variable: its default applies. JangarNames and AgentsNames
// return the names that proompteng's services use.
type EnvNames struct {
	Enabled     string
	Provider    string
	CanarySteps string

	_ struct{}
}

// JangarNames are JANGAR_PROGRESSIVE_DELIVERY_ENABLED,
// JANGAR_PROGRESSIVE_DELIVERY_PROVIDER and
// JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS.
func JangarNames() EnvNames {
	return EnvNames{
		Enabled:     "JANGAR_PROGRESSIVE_DELIVERY_ENABLED",
		Provider:    "JANGAR_PROGRESSIVE_DELIVERY_PROVIDER",
		CanarySteps: "JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS",
	}
}

// AgentsNames are AGENTS_PROGRESSIVE_DELIVERY_ENABLED,
// AGENTS_PROGRESSIVE_DELIVERY_PROVIDER and
// AGENTS_PROGRESSIVE_DELIVERY_CANARY_STEPS.
func AgentsNames() EnvNames {
	return EnvNames{
		Enabled:     "AGENTS_PROGRESSIVE_DELIVERY_ENABLED",
		Provider:    "AGENTS_PROGRESSIVE_DELIVERY_PROVIDER",
		CanarySteps: "AGENTS_PROGRESSIVE_DELIVERY_CANARY_STEPS",
	}
}

// FromEnv reads from variables what FromValues reads from values. Lookup is
// os.LookupEnv outside of tests; a nil lookup and the zero names are errors.
// Unset, empty and blank mean the default. Enabled is 1 t true yes on, or 0 f
// false no off, in any case. The steps are a JSON list, as toJson of the value
// renders it. FromEnv reports every malformed variable and then returns zero
// Settings.
func FromEnv(lookup func(name string) (value string, set bool), names EnvNames) (Settings, error) {
	if lookup == nil {
		return Settings{}, errors.New("rollout/settings: fromEnv: lookup is nil; pass os.LookupEnv")
	}
	if names == (EnvNames{}) {
		return Settings{}, errors.New("rollout/settings: fromEnv: names is empty; pass JangarNames(), AgentsNames() or an EnvNames with the names of your variables")
	}
	var (
		s    Settings
		errs []error
		err  error
	)
	if s.Enabled, err = env.Bool(lookup, names.Enabled, false); err != nil {
		errs = append(errs, fmt.Errorf("rollout/settings: %w", err))
	}
	if value := env.String(lookup, names.Provider); value != "" && value != provider {
		errs = append(errs, fmt.Errorf("rollout/settings: %w", &env.Error{Name: names.Provider, Value: value, Accepted: provider}))
	}
	if value := env.String(lookup, names.CanarySteps); value != "" && value != "null" {
		var list any
		if err := json.Unmarshal([]byte(value), &list); err != nil {
			errs = append(errs, fmt.Errorf("rollout/settings: %w", &env.Error{
				Name: names.CanarySteps, Value: value, Accepted: `a JSON list such as [{"setWeight":20},{"pause":{}}]`,
			}))
		} else {
			steps, more := readSteps(list, field.NewPath(names.CanarySteps))
			if s.Options.Steps = steps; len(more) > 0 {
				errs = append(errs, fmt.Errorf("rollout/settings: %w", more.ToAggregate()))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Settings{}, err
	}
	return s, nil
}
