// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/settings"
)

func value(tb testing.TB, s string) any {
	tb.Helper()
	var v any
	require.NoError(tb, json.Unmarshal([]byte(s), &v))
	return v
}

//req:shows R1
func TestFromValues(t *testing.T) {
	ten := rollout.PauseFor(10 * time.Minute)
	ten.Pause.Duration.StrVal = "10m"
	cases := map[string]struct {
		reason string
		values string
		want   settings.Settings
	}{
		"Nothing":    {"Off.", `null`, settings.Settings{}},
		"Empty":      {"Off.", `{}`, settings.Settings{}},
		"Nulls":      {"As Helm renders what is not set.", `{"enabled":null,"provider":null,"canarySteps":null}`, settings.Settings{}},
		"On":         {"The safe canary.", `{"enabled":true}`, settings.Settings{Enabled: true}},
		"AllOfThem":  {"The provider there is.", `{"enabled":true,"provider":"argo-rollouts","canarySteps":[]}`, settings.Settings{Enabled: true}},
		"ChartsOwn":  {"Checked, and the chart's.", `{"crdCheck":"skip","keepOnSwitch":true}`, settings.Settings{}},
		"OffAndWith": {"Ready to be switched on.", `{"enabled":false,"canarySteps":[{"setWeight":20},{"pause":{}}]}`, settings.Settings{Options: rollout.Options{Steps: []rollout.Step{rollout.SetWeight(20), rollout.PauseManual()}}}},
		"LastIs100": {
			"The end of the canary, as most examples have it.", `{"canarySteps":[{"setWeight":20},{"pause":{}},{"setWeight":100}]}`,
			settings.Settings{Options: rollout.Options{Steps: []rollout.Step{rollout.SetWeight(20), rollout.PauseManual(), rollout.SetWeight(100)}}},
		},
		"Steps": {
			"In any number.",
			`{"enabled":true,"canarySteps":[{"setWeight":1},{"pause":{}},{"setWeight":50},{"pause":{"duration":"10m"}}]}`,
			settings.Settings{Enabled: true, Options: rollout.Options{Steps: []rollout.Step{rollout.SetWeight(1), rollout.PauseManual(), rollout.SetWeight(50), ten}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, errs := settings.FromValues(value(t, tc.values))
			require.Empty(t, errs, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func TestFromValues_Refuses(t *testing.T) {
	const steps = "progressiveDelivery.canarySteps"
	cases := map[string]struct {
		reason string
		values string
		want   []string
	}{
		"NoObject":          {"The setting is an object.", `true`, []string{"progressiveDelivery"}},
		"Misspelt":          {"A misspelt switch would stay off without an error.", `{"enable":true}`, []string{"progressiveDelivery.enable"}},
		"EnabledAsAString":  {"helm --set-string makes a string: nothing is guessed.", `{"enabled":"false"}`, []string{"progressiveDelivery.enabled"}},
		"EnabledAsANumber":  {"Nor here.", `{"enabled":1}`, []string{"progressiveDelivery.enabled"}},
		"UnknownProvider":   {"There is one.", `{"provider":"flagger"}`, []string{"progressiveDelivery.provider"}},
		"ProviderIsEmpty":   {"A name, or nothing.", `{"provider":""}`, []string{"progressiveDelivery.provider"}},
		"ProviderIsANumber": {"A name.", `{"provider":3}`, []string{"progressiveDelivery.provider"}},
		"CrdCheckIsTrue":    {"Three words.", `{"crdCheck":true}`, []string{"progressiveDelivery.crdCheck"}},
		"KeepIsAString":     {"A switch.", `{"keepOnSwitch":"yes"}`, []string{"progressiveDelivery.keepOnSwitch"}},
		"StepsAreNoList":    {"A list.", `{"canarySteps":{"setWeight":20}}`, []string{steps}},
		"StepsAreAString":   {"A list.", `{"canarySteps":"20,pause"}`, []string{steps}},
		"StepIsAString":     {"An object.", `{"canarySteps":["pause"]}`, []string{steps + "[0]"}},
		"StepIsMisspelt":    {"With its name, and nothing that follows from it.", `{"canarySteps":[{"setWieght":20},{"pause":{}}]}`, []string{steps + "[0].setWieght"}},
		"PauseIsAString":    {"An object.", `{"canarySteps":[{"setWeight":20},{"pause":"10m"}]}`, []string{steps + "[1].pause"}},
		"TwoActions":        {"One of both.", `{"canarySteps":[{"setWeight":20,"pause":{}}]}`, []string{steps + "[0]"}},
		"WeightZero":        {"1 to 99.", `{"canarySteps":[{"setWeight":0},{"pause":{}}]}`, []string{steps + "[0].setWeight"}},
		"Weight100":         {"Not before the pause.", `{"canarySteps":[{"setWeight":100},{"pause":{}}]}`, []string{steps + "[0].setWeight"}},
		"Weight101":         {"1 to 99.", `{"canarySteps":[{"setWeight":101},{"pause":{}}]}`, []string{steps + "[0].setWeight"}},
		"WeightIsAString":   {"A number.", `{"canarySteps":[{"setWeight":"20"},{"pause":{}}]}`, []string{steps + "[0].setWeight"}},
		"PauseOfADay":       {"Go has no days.", `{"canarySteps":[{"setWeight":20},{"pause":{"duration":"1d"}}]}`, []string{steps + "[1].pause.duration"}},
		"PauseOfZero":       {"None at all.", `{"canarySteps":[{"setWeight":20},{"pause":{"duration":0}}]}`, []string{steps + "[1].pause.duration"}},
		"NoPause":           {"Nothing waits.", `{"canarySteps":[{"setWeight":20}]}`, []string{steps}},
		"OffAndWrong":       {"The steps are checked before the switch is on.", `{"enabled":false,"canarySteps":[{"setWeight":0},{"pause":{}}]}`, []string{steps + "[0].setWeight"}},
		"OnAndWrong":        {"Then it is off.", `{"enabled":true,"provider":"flagger"}`, []string{"progressiveDelivery.provider"}},
		"AllAtOnce":         {"One call reports every error.", `{"enabled":"x","provider":"y","canarySteps":[{}],"z":1}`, []string{"progressiveDelivery.enabled", "progressiveDelivery.provider", "progressiveDelivery.z", steps, steps + "[0]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, errs := settings.FromValues(value(t, tc.values))
			assert.Equal(t, settings.Settings{}, got, "nothing is half on")
			var paths []string
			for _, e := range errs {
				paths = append(paths, e.Field)
				assert.NotEmpty(t, e.Detail, "the accepted values: %v", e)
			}
			assert.Subset(t, tc.want, paths, "%s\n%v", tc.reason, errs)
			assert.Subset(t, paths, tc.want, "%s\n%v", tc.reason, errs)
		})
	}
}

func TestFromValues_GoTypes(t *testing.T) {
	got, errs := settings.FromValues(map[string]any{"enabled": true, "canarySteps": []any{
		map[string]any{"setWeight": 20}, map[string]any{"pause": map[string]any{"duration": int32(60)}},
	}})
	require.Empty(t, errs, "a YAML decoder's integers")
	assert.Len(t, got.Options.Steps, 2)
	_, errs = settings.FromValues(map[string]any{"canarySteps": []any{make(chan int)}})
	assert.NotEmpty(t, errs)
}

type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	s, ok := v[name]
	return s, ok
}

const (
	enabled  = "JANGAR_PROGRESSIVE_DELIVERY_ENABLED"
	provider = "JANGAR_PROGRESSIVE_DELIVERY_PROVIDER"
	canary   = "JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS"
)

func TestFromEnv(t *testing.T) {
	two := settings.Settings{Enabled: true, Options: rollout.Options{Steps: []rollout.Step{rollout.SetWeight(20), rollout.PauseManual()}}}
	cases := map[string]struct {
		reason string
		env    variables
		names  settings.EnvNames
		want   settings.Settings
	}{
		"Unset":       {"Off.", nil, settings.JangarNames(), settings.Settings{}},
		"Blank":       {"Helm renders an unset value as an empty string.", variables{enabled: "", provider: " ", canary: "\n"}, settings.JangarNames(), settings.Settings{}},
		"On":          {"As ever.", variables{enabled: "Yes", provider: "argo-rollouts", canary: `[{"setWeight":20},{"pause":{}}]`}, settings.JangarNames(), two},
		"NullSteps":   {"toJson of nothing.", variables{enabled: "1", canary: "null"}, settings.JangarNames(), settings.Settings{Enabled: true}},
		"NoSteps":     {"The safe canary.", variables{enabled: "1", canary: "[]"}, settings.JangarNames(), settings.Settings{Enabled: true}},
		"AgentsNames": {"The other generation, and only that.", variables{enabled: "no", "AGENTS_PROGRESSIVE_DELIVERY_ENABLED": "on"}, settings.AgentsNames(), settings.Settings{Enabled: true}},
		"OneOfTwo":    {"Two workloads, two switches.", variables{enabled: "no", "CONTROLLERS_CANARY": "on"}, settings.EnvNames{Enabled: "CONTROLLERS_CANARY"}, settings.Settings{Enabled: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := settings.FromEnv(tc.env.lookup, tc.names)
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func TestFromEnv_Refuses(t *testing.T) {
	for v, want := range map[variablesOf]string{
		{enabled, "enabled"}: "true yes on", {enabled, "2"}: enabled,
		{provider, "flagger"}: "argo-rollouts", {provider, "Argo-Rollouts"}: provider,
		{canary, "20,pause"}: `[{"setWeight":20},{"pause":{}}]`, {canary, `{"setWeight":20}`}: canary,
		{canary, `[{"setWeight":0},{"pause":{}}]`}: canary + "[0].setWeight", {canary, `[{"setWeight":20}] x`}: canary,
		{canary, `[{"setWeight":20},{"pause":{"duration":"1d"}}]`}: "10m",
		{canary, `[{"setWeight":20},{"pause":"10m"}]`}:             "want {duration: 10m}",
	} {
		got, err := settings.FromEnv(variables{v.name: v.value}.lookup, settings.JangarNames())
		require.ErrorContains(t, err, want, v)
		require.ErrorContains(t, err, v.name, v)
		assert.Equal(t, settings.Settings{}, got, v)
	}
	_, err := settings.FromEnv(variables{enabled: "x", provider: "y", canary: "z"}.lookup, settings.JangarNames())
	for _, name := range []string{enabled, provider, canary} {
		require.ErrorContains(t, err, name, "one call reports every error")
	}
	_, err = settings.FromEnv(variables{}.lookup, settings.EnvNames{})
	require.ErrorContains(t, err, "names is empty; pass JangarNames(), AgentsNames() or an EnvNames", "no set is anybody's by accident")
	_, err = settings.FromEnv(nil, settings.JangarNames())
	require.ErrorContains(t, err, "lookup is nil; pass os.LookupEnv")
}

type variablesOf struct{ name, value string }

// FuzzFromValues: for any values nothing panics, refused settings are off, and
// accepted ones are the same through the environment.
func FuzzFromValues(f *testing.F) {
	for _, s := range []string{
		`null`, `{}`, `{"enabled":true,"provider":"argo-rollouts","canarySteps":[{"setWeight":20},{"pause":{}}]}`,
		`{"canarySteps":[{"pause":{"duration":1e9}},null,[],{"analysis":{"templates":[{"templateName":"x"}]}}]}`, `{"canarySteps":[[[]]],"enabled":[]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		got, errs := settings.FromValues(v)
		if len(errs) > 0 {
			assert.Equal(t, settings.Settings{}, got)
			return
		}
		if len(got.Options.Steps) > 0 {
			list, err := json.Marshal(got.Options.Steps)
			require.NoError(t, err)
			again, err := settings.FromEnv(variables{canary: string(list)}.lookup, settings.JangarNames())
			require.NoError(t, err, "FromValues and FromEnv accept the same steps")
			assert.Equal(t, got.Options.Steps, again.Options.Steps)
		}
	})
}
