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
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// FromValues reads the progressiveDelivery of chart values. Nil and the empty object are off. The chart's own keys, crdCheck
// (auto, fail or skip) and keepOnSwitch, are checked too, and are for the chart alone. Where anything is wrong the Settings
// are zero.
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

// readSteps checks steps as those of a Rollout that is otherwise right, and has pods enough for any weight.
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
	for _, e := range rollout.Validate(&unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"replicas": 100, "strategy": map[string]any{"canary": map[string]any{"maxSurge": 1, "maxUnavailable": 0, "steps": list}}},
	}}) {
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
	var steps []rollout.Step
	data, err := json.Marshal(list)
	if err == nil {
		err = json.Unmarshal(data, &steps)
	}
	if err != nil {
		return nil, field.ErrorList{field.InternalError(path, err)}
	}
	return steps, nil
}

// Names are the variables that FromEnv reads. An empty name means the JANGAR_ one that is given with each: those are the names
// of the service that these settings come from. A program with names of its own puts them here.
type Names struct {
	Enabled     string // JANGAR_PROGRESSIVE_DELIVERY_ENABLED
	Provider    string // JANGAR_PROGRESSIVE_DELIVERY_PROVIDER
	CanarySteps string // JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS

	_ struct{}
}

// AgentsNames are the names of the AGENTS_ generation.
func AgentsNames() Names {
	return Names{
		Enabled:     "AGENTS_PROGRESSIVE_DELIVERY_ENABLED",
		Provider:    "AGENTS_PROGRESSIVE_DELIVERY_PROVIDER",
		CanarySteps: "AGENTS_PROGRESSIVE_DELIVERY_CANARY_STEPS",
	}
}

// FromEnv reads what FromValues does from variables; lookup is os.LookupEnv or the like, and an error if nil. Unset, empty and blank
// mean the default. Enabled is 1 t true yes on, or 0 f false no off, in any case; the steps are a JSON list, as toJson of
// the value renders it. The names begin with JANGAR_ unless names says otherwise. The error joins all that is wrong, and the
// Settings are zero then.
func FromEnv(lookup func(name string) (value string, set bool), names Names) (Settings, error) {
	if lookup == nil {
		return Settings{}, errors.New("rollout/settings: fromenv: lookup is nil; pass os.LookupEnv")
	}
	var (
		s    Settings
		errs []error
		err  error
	)
	read := func(name, usual string) (string, string) {
		if name == "" {
			name = usual
		}
		value, set := lookup(name)
		if !set {
			value = ""
		}
		return name, strings.TrimSpace(value)
	}
	name, _ := read(names.Enabled, "JANGAR_PROGRESSIVE_DELIVERY_ENABLED")
	if s.Enabled, err = env.Bool(lookup, name, false); err != nil {
		errs = append(errs, fmt.Errorf("rollout/settings: %w", err))
	}
	name, value := read(names.Provider, "JANGAR_PROGRESSIVE_DELIVERY_PROVIDER")
	if value != "" && value != provider {
		errs = append(errs, fmt.Errorf("rollout/settings: %w", &env.Error{Name: name, Value: value, Accepted: provider}))
	}
	name, value = read(names.CanarySteps, "JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS")
	if value != "" && value != "null" {
		var list any
		if err := json.Unmarshal([]byte(value), &list); err != nil {
			errs = append(errs, fmt.Errorf("rollout/settings: %w", &env.Error{
				Name: name, Value: value, Accepted: `a JSON list such as [{"setWeight":20},{"pause":{}}]`,
			}))
		} else {
			steps, more := readSteps(list, field.NewPath(name))
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
