// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"os"

	"github.com/proompteng/controllerkit/events/settings"
)

func ExampleFromEnv() {
	env := map[string]string{"JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN": "10/m"}
	_, err := settings.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, settings.JangarNames())
	fmt.Println(err)
	o, err := settings.FromEnv(os.LookupEnv, settings.JangarNames())
	fmt.Println(o.Disabled, err)
	// Output:
	// events/settings: JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN: "10/m" is not accepted; want a whole number from 1 to 6000
	// false <nil>
}

func ExampleAgentsNames() {
	env := map[string]string{"AGENTS_CONTROLLER_EVENTS_ENABLED": "false"}
	o, err := settings.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, settings.AgentsNames())
	fmt.Println(o.Disabled, err)
	// Output: true <nil>
}
