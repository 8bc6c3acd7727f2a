// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"fmt"
	"time"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

func ExampleCheck() {
	before := status.Stamp{ObservedGeneration: 2, UpdatedAt: at(0), StartedAt: at(0)}
	after := status.Stamp{ObservedGeneration: 1, UpdatedAt: at(time.Minute), StartedAt: at(time.Minute)}
	for _, err := range statustest.Check(before, after, 2) {
		fmt.Println(err)
	}
	// Output:
	// status/statustest: observedGeneration went back from 2 to 1
	// status/statustest: startedAt moved from 2025-06-01T12:00:00Z to 2025-06-01T12:01:00Z
}

func ExampleStamp() {
	object := &build{}
	object.Status.Stamp = status.Stamp{ObservedGeneration: 2, StartedAt: at(0)}
	stamp, err := statustest.Stamp(status.FieldNames{}, object)
	fmt.Println(stamp.ObservedGeneration, stamp.StartedAt.UTC(), stamp.FinishedAt, err)
	// Output: 2 2025-06-01 12:00:00 +0000 UTC <nil> <nil>
}
