// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

func ExampleRetention_Warnings() {
	for _, warning := range (jobgc.Retention{FailedTTL: time.Minute}).Warnings(&batchv1.Job{Spec: batchv1.JobSpec{TTLSecondsAfterFinished: ptr.To[int32](0)}}) {
		fmt.Println(warning)
	}
	// Output:
	// Retention.FailedTTL 1m0s: a replica that stalls between its read of the owner and the creation can run the work again; use 1m30s or more
	// the template's ttlSecondsAfterFinished of 0: the Job is deleted as soon as its outcome is recorded, and its pods and logs with it
	// the template's ttlSecondsAfterFinished of 0: a replica that stalls between its read of the owner and the creation can run the work again; use 1m30s or more
}

func ExampleRetention_LogValues() {
	fmt.Println(jobgc.Retention{SucceededTTL: time.Hour}.LogValues()...) // logger.Info("Retention", ...)
	// Output: succeeded 1h0m0s failed keep
}
