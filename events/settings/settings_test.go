// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/settings"
)

//req:shows E4
func TestFromEnv(t *testing.T) {
	const on, rate = "JANGAR_CONTROLLER_EVENTS_ENABLED", "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN"
	cases := map[string]struct {
		reason string
		env    map[string]string
		names  settings.EnvNames
		want   events.Options
		fails  string
	}{
		"Unset":      {"Enabled, and the default rate.", nil, settings.JangarNames(), events.Options{}, ""},
		"Empty":      {"Helm renders an unset value as an empty string.", map[string]string{on: "", rate: " ", "POD_NAME": ""}, settings.JangarNames(), events.Options{}, ""},
		"Disabled":   {"false switches the events off.", map[string]string{on: "false"}, settings.JangarNames(), events.Options{Disabled: true}, ""},
		"Off":        {"In all accepted forms.", map[string]string{on: "OFF"}, settings.JangarNames(), events.Options{Disabled: true}, ""},
		"Enabled":    {"yes is a boolean, in any case.", map[string]string{on: "Yes", rate: "10"}, settings.JangarNames(), events.Options{WritesPerMinute: 10}, ""},
		"Instance":   {"The downward API names the pod.", map[string]string{"POD_NAME": "pod-0"}, settings.JangarNames(), events.Options{Instance: "pod-0"}, ""},
		"Blank":      {"As if it were not set.", map[string]string{"POD_NAME": " \t"}, settings.JangarNames(), events.Options{}, ""},
		"BadBool":    {"A word that is not a boolean is refused.", map[string]string{on: "enabled"}, settings.JangarNames(), events.Options{}, on},
		"BadRate":    {"5/m is not 5.", map[string]string{rate: "5/m"}, settings.JangarNames(), events.Options{}, rate},
		"ZeroRate":   {"0 would be read as none or as all; the switch is the other variable.", map[string]string{rate: "0"}, settings.JangarNames(), events.Options{}, rate},
		"Negative":   {"There is no such rate.", map[string]string{rate: "-1"}, settings.JangarNames(), events.Options{}, rate},
		"Fraction":   {"The cap is a whole number.", map[string]string{rate: "2.5"}, settings.JangarNames(), events.Options{}, rate},
		"HugeRate":   {"The cap is at most 6000.", map[string]string{rate: "6001"}, settings.JangarNames(), events.Options{}, rate},
		"Agents":     {"The second generation of names.", map[string]string{"AGENTS_CONTROLLER_EVENTS_ENABLED": "0", rate: "x"}, settings.AgentsNames(), events.Options{Disabled: true}, ""},
		"AgentsRate": {"The other names have the same meaning.", map[string]string{"AGENTS_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN": "7"}, settings.AgentsNames(), events.Options{WritesPerMinute: 7}, ""},
		"Own": {
			"A controller's own names.",
			map[string]string{"EVENTS": "no", "RATE": "3", "ME": "x"},
			settings.EnvNames{Enabled: "EVENTS", WritesPerMinute: "RATE", Instance: "ME"},
			events.Options{Disabled: true, WritesPerMinute: 3, Instance: "x"},
			"",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := settings.FromEnv(func(name string) (string, bool) {
				v, ok := tc.env[name]
				return v, ok
			}, tc.names)
			if tc.fails != "" {
				require.ErrorContains(t, err, tc.fails, tc.reason)
				require.ErrorContains(t, err, "want", "the error names the accepted values")
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func TestFromEnv_NamesAllThatIsWrong(t *testing.T) {
	o, err := settings.FromEnv(func(string) (string, bool) { return "-", true }, settings.JangarNames())
	require.ErrorContains(t, err, "JANGAR_CONTROLLER_EVENTS_ENABLED")
	require.ErrorContains(t, err, "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN")
	assert.Equal(t, events.Options{}, o)
	_, err = settings.FromEnv(func(string) (string, bool) { return "", false }, settings.EnvNames{})
	require.ErrorContains(t, err, "names is empty; pass JangarNames(), AgentsNames() or an EnvNames", "no set is anybody's by accident")
	_, err = settings.FromEnv(nil, settings.JangarNames())
	require.ErrorContains(t, err, "os.LookupEnv", "and no panic")
}
