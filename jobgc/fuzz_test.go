// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// FuzzStateOf makes a condition of every byte.
func FuzzStateOf(f *testing.F) {
	f.Add([]byte{}, false, int64(0))
	f.Add([]byte{0x00, 0x03}, false, int64(1))
	f.Add([]byte{0x10, 0x01, 0x02}, true, int64(-1))
	f.Add([]byte{0x04, 0x03, 0x05, 0x20}, false, int64(1<<40))
	f.Add([]byte{0x03}, true, int64(1))       // deleted after SuccessCriteriaMet
	f.Add([]byte{0x02, 0x04}, true, int64(1)) // and after FailureTarget
	types := []batchv1.JobConditionType{
		batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, "", "Vendor",
	}
	statuses := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, ""}
	f.Fuzz(func(t *testing.T, data []byte, deleting bool, at int64) {
		job := &batchv1.Job{}
		ended, announced := false, false
		for i, b := range data[:min(len(data), 16)] {
			c := batchv1.JobCondition{
				Type:               types[int(b&0xf)%len(types)],
				Status:             statuses[int(b>>4)%len(statuses)],
				LastTransitionTime: metav1.Unix(at+int64(i), 0),
			}
			job.Status.Conditions = append(job.Status.Conditions, c)
			if c.Status != corev1.ConditionTrue {
				continue
			}
			switch c.Type {
			case batchv1.JobComplete, batchv1.JobFailed:
				ended = true
			case batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
				announced = true
			case batchv1.JobSuspended:
			}
		}
		if deleting {
			job.DeletionTimestamp = ptr.To(metav1.Unix(at, 0))
		}
		// No further condition may come to a Job that is being deleted.
		finished := ended || announced && deleting
		before := job.DeepCopy()
		got := jobgc.StateOf(job)
		assert.Equal(t, before, job, "a Job at hand is only read")
		assert.Equal(t, finished, got.State == jobgc.Finished)
		assert.Equal(t, finished, got.Outcome == jobgc.Succeeded || got.Outcome == jobgc.Failed)
		assert.Equal(t, deleting && !finished, got.State == jobgc.Deleting)
		assert.Contains(t, []jobgc.State{jobgc.Active, jobgc.Suspended, jobgc.Finishing, jobgc.Finished, jobgc.Deleting}, got.State)
		slices.Reverse(job.Status.Conditions)
		back := jobgc.StateOf(job)
		assert.Equal(t, got.State, back.State, "the order of the conditions does not matter")
		assert.Equal(t, got.Outcome, back.Outcome)
	})
}

// FuzzRetention checks, in numbers without limits, that a TTL never deletes
// before what was promised, and that a second release finds that the first has
// done its work.
func FuzzRetention(f *testing.F) {
	f.Add(int64(600e9), int64(0), int64(0))
	f.Add(int64(1), int64(1<<40), int64(1<<41))
	f.Add(int64(0), int64(-1<<55), int64(1<<55))
	f.Add(int64(1<<63-1), int64(0), int64(1<<31-1))
	f.Add(int64(-1<<63), int64(1), int64(-1<<31))
	f.Fuzz(func(t *testing.T, keep, end, now int64) {
		end, now = end>>8, now>>8 // years that time.Time can hold
		keep &= 1<<60 - 1
		r := jobgc.Retention{SucceededTTL: time.Duration(keep)}
		finishedAt, released := time.Unix(end, 0), time.Unix(now, 0)
		ttl := r.Final(&batchv1.Job{}, jobgc.Observation{Outcome: jobgc.Succeeded, FinishedAt: finishedAt}, released)
		require.True(t, ttl == nil || keep > 0, "zero keeps")
		if ttl == nil {
			return // kept for good is never too short
		}
		require.Positive(t, *ttl)
		from := big.NewInt(max(now, end))
		until := from.Mul(from, big.NewInt(1e9)).Add(from, big.NewInt(keep))
		deleted := big.NewInt(end + int64(*ttl))
		deleted.Mul(deleted, big.NewInt(1e9))
		require.LessOrEqual(t, until.Cmp(deleted), 0, "never shorter than promised")
		require.Less(t, deleted.Sub(deleted, until).Int64(), int64(time.Second), "nor longer than a second")
		if keep > int64(math.MaxInt32)*int64(time.Second) {
			return // New refuses it
		}

		w := newWorld(t, jobgc.Options{Retention: r})
		ref := w.ensured(t)
		ref.Outcome = jobgc.Succeeded
		w.change("job", finish(finishedAt))
		w.store.sync(w.server)
		require.NoError(t, release(t.Context(), w.guard, ref))
		w.store.sync(w.server)
		patches := w.patches
		require.NoError(t, release(t.Context(), w.guard, ref))
		require.Equal(t, patches, w.patches, "once is enough")
	})
}
