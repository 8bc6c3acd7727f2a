// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/rules"
)

func ExampleFor() {
	for _, r := range rules.For(status.FieldNames{StartedAt: "startTime", FinishedAt: "-"}) {
		fmt.Println(r.Message)
	}
	// Output:
	// status may not be dropped
	// status.observedGeneration may not go back
	// status.startTime may not change once set
}
