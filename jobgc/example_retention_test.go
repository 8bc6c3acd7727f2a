// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"time"

	"github.com/proompteng/controllerkit/jobgc"
)

func ExampleRetention_Warnings() {
	for _, warning := range (jobgc.Retention{FailedTTL: time.Minute}).Warnings() {
		fmt.Println(warning)
	}
	// Output: Retention.FailedTTL 1m0s: a replica that stalls between its read of the owner and the creation can run the work again; use 1m30s or more
}

func ExampleRetention_LogValues() {
	fmt.Println(jobgc.Retention{SucceededTTL: time.Hour}.LogValues()...) // logger.Info("Retention", ...)
	// Output: succeeded 1h0m0s failed keep
}
