// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"

	"github.com/proompteng/controllerkit/rollout"
)

// The same code renders both: one value decides, and a Deployment stays what it is until it is set.
func Example() {
	deployment, enabled := web(), true

	obj, err := rollout.Render(deployment, enabled, rollout.Options{})

	fmt.Println(obj.GetObjectKind().GroupVersionKind().Kind, err)
	// Output: Rollout <nil>
}
