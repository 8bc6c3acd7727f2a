// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"

	"github.com/proompteng/controllerkit/rollout/settings"
)

func ExampleFromValues() {
	values := map[string]any{"enabled": true, "canarySteps": []any{
		map[string]any{"setWeight": 20}, map[string]any{"pause": map[string]any{"duration": "1d"}},
	}}
	_, errs := settings.FromValues(values)
	fmt.Println(errs[0].Field, errs[0].BadValue)

	s, errs := settings.FromValues(map[string]any{"enabled": true})
	fmt.Println(s.Enabled, len(s.Options.Steps), errs)
	// Output:
	// progressiveDelivery.canarySteps[1].pause.duration 1d
	// true 0 []
}

func ExampleFromEnv() {
	lookup := func(name string) (string, bool) { // os.LookupEnv
		return "maybe", name == "JANGAR_PROGRESSIVE_DELIVERY_ENABLED"
	}
	_, err := settings.FromEnv(lookup, settings.JangarNames())
	fmt.Println(err)
	// Output: rollout/settings: JANGAR_PROGRESSIVE_DELIVERY_ENABLED: "maybe" is not accepted; want one of 1 t true yes on 0 f false no off
}

func ExampleAgentsNames() {
	fmt.Println(settings.AgentsNames().Enabled)
	// Output: AGENTS_PROGRESSIVE_DELIVERY_ENABLED
}
