// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// TestOthers_TakeLittleMemory of the Jobs that the informer holds anyway, and
// none once they have ended: 50,000 unfinished Jobs of CronJobs.
func TestOthers_TakeLittleMemory(t *testing.T) {
	const many = 50_000
	for name, perOwner := range map[string]int{"OneJobEach": 1, "OneOwner": many} {
		t.Run(name, func(t *testing.T) {
			g, err := NewUncached(func(string) simulated { return simulated{} }, Options{})
			require.NoError(t, err)
			h := handler{g}
			jobs := make([]*batchv1.Job, many)
			for i := range jobs {
				owner := metav1.OwnerReference{Kind: "CronJob", Name: "cron", UID: types.UID(fmt.Sprint("cron-", i/perOwner)), Controller: ptr.To(true)}
				jobs[i] = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: fmt.Sprint("cron-", i), UID: types.UID(fmt.Sprint(i)), OwnerReferences: []metav1.OwnerReference{owner},
				}}
			}
			before := heap()
			for _, job := range jobs {
				h.OnAdd(job, true)
				h.OnUpdate(job, job)
			}
			each := (heap() - before) / many
			t.Logf("%d bytes for each Job", each)
			assert.Less(t, each, int64(250))
			assert.Len(t, g.others[types.UID("cron-0")].named(), perOwner)
			for i, job := range jobs {
				if i%2 == 0 {
					h.OnDelete(job)
					continue
				}
				done := job.DeepCopy()
				done.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now())}}
				h.OnUpdate(job, done)
			}
			assert.Empty(t, g.others)
			runtime.KeepAlive(jobs)
		})
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // far below the limit
}
