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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/env"
	"github.com/proompteng/controllerkit/rollout"
)

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
//	canarySteps  the safe one   a list such as [{setWeight: 20}, {pause: {duration: 10m}}]
func FromValues(values any) (Settings, field.ErrorList) {
	root := field.NewPath("progressiveDelivery")
	m, ok := values.(map[string]any)
	if !ok && values != nil {
		return Settings{}, field.ErrorList{field.TypeInvalid(root, field.OmitValueType{},
			"want an object with enabled, provider and canarySteps")}
	}
	return read(m, func(key string) *field.Path { return root.Child(key) })
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
		return Settings{}, errors.New("rollout/settings: fromEnv: names is empty; " +
			"pass JangarNames(), AgentsNames() or an EnvNames with the names of your variables")
	}
	variables := map[string]string{
		"enabled":     names.Enabled,
		"provider":    names.Provider,
		"canarySteps": names.CanarySteps,
	}
	values := map[string]any{}
	enabled, wrongSwitch := env.Bool(lookup, names.Enabled, false)
	values["enabled"] = enabled
	if provider := env.String(lookup, names.Provider); provider != "" {
		values["provider"] = provider
	}
	steps, wrongSteps := list(lookup, names.CanarySteps)
	values["canarySteps"] = steps
	s, errs := read(values, func(key string) *field.Path { return field.NewPath(variables[key]) })
	err := errors.Join(wrongSwitch, wrongSteps, errs.ToAggregate())
	if err != nil {
		return Settings{}, fmt.Errorf("rollout/settings: %w", err)
	}
	return s, nil
}

// list reads a variable that has JSON, or nothing.
func list(lookup env.Lookup, name string) (any, error) {
	text := env.String(lookup, name)
	if text == "" {
		return nil, nil //nolint:nilnil // nothing is a value here
	}
	var v any
	err := json.Unmarshal([]byte(text), &v)
	if err != nil {
		accepted := `a JSON list such as [{"setWeight":20},{"pause":{}}]`
		return nil, &env.Error{Name: name, Value: text, Accepted: accepted}
	}
	return v, nil
}

// read checks all keys, and names the path of each.
func read(values map[string]any, path func(key string) *field.Path) (Settings, field.ErrorList) {
	var s Settings
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		if value == nil {
			continue
		}
		var wrong field.ErrorList
		switch key {
		case "enabled":
			s.Enabled, wrong = boolean(value, path(key))
		case "keepOnSwitch":
			_, wrong = boolean(value, path(key))
		case "provider":
			wrong = oneOf(value, path(key), "argo-rollouts")
		case "crdCheck":
			wrong = oneOf(value, path(key), "auto", "fail", "skip")
		case "canarySteps":
			s.Options.Steps, wrong = steps(value, path(key))
		default:
			wrong = field.ErrorList{field.Forbidden(path(key),
				"unknown key; there are enabled, provider, canarySteps, crdCheck, keepOnSwitch")}
		}
		errs = append(errs, wrong...)
	}
	if len(errs) > 0 {
		return Settings{}, errs
	}
	return s, nil
}

func boolean(value any, path *field.Path) (bool, field.ErrorList) {
	b, ok := value.(bool)
	if !ok {
		return false, field.ErrorList{field.TypeInvalid(path, value, "want true or false")}
	}
	return b, nil
}

func oneOf(value any, path *field.Path, accepted ...string) field.ErrorList {
	text := fmt.Sprint(value)
	if !slices.Contains(accepted, text) {
		return field.ErrorList{field.NotSupported(path, text, accepted)}
	}
	return nil
}

// steps checks the steps in a Rollout that has pods enough for any weight. Only
// the steps of it count.
func steps(value any, path *field.Path) ([]rollout.Step, field.ErrorList) {
	const in = "spec.strategy.canary.steps"
	steps, ok := value.([]any)
	if !ok {
		return nil, field.ErrorList{field.TypeInvalid(path, field.OmitValueType{},
			"want a list such as [{setWeight: 20}, {pause: {}}]")}
	}
	if len(steps) == 0 {
		return nil, nil
	}
	labels := map[string]string{"app": "steps"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "steps"}}
	d.Spec.Replicas = ptr.To[int32](100)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "steps", Image: "steps"}}
	r, errs := rollout.Convert(d, rollout.Options{Mutate: func(u *unstructured.Unstructured) {
		canary, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "strategy", "canary")
		if fields, ok := canary.(map[string]any); ok {
			fields["steps"] = steps
		}
	}})
	for _, e := range errs {
		rest, found := strings.CutPrefix(e.Field, in)
		if !found { // not JSON
			rest = ""
		}
		e.Field = path.String() + rest
	}
	if r == nil {
		return nil, errs
	}
	return r.Spec.Strategy.Canary.Steps, nil
}
