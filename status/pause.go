// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"math/rand/v2"
	"time"
)

// The shortest pause after a second lost race. It doubles with each further
// one, mostDoublings times.
const (
	shortestPause = 10 * time.Millisecond
	mostDoublings = 3
)

// pause waits after a number of conflicts in a row. One conflict is usual and
// costs no time. After more, two controllers are writing one object, and a
// random part keeps them from meeting again. pause returns the error of ctx if
// that ends first.
func pause(ctx context.Context, conflicts int) error {
	if conflicts < 2 {
		return nil
	}
	least := shortestPause << min(conflicts-2, mostDoublings)
	timer := time.NewTimer(least + rand.N(least))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
