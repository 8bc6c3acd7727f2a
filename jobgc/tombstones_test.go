// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// All objects that an informer may pass, and some that it never should.
func TestOnDeleteTakesAnything(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	done := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	finish(time.Now())(done)
	for _, obj := range []any{
		nil, "job", 7, &corev1.Pod{}, (*batchv1.Job)(nil), &batchv1.Job{}, done,
		struct{ Obj string }{"job"},
		struct{ obj any }{done},
		cache.DeletedFinalStateUnknown{},
		(*cache.DeletedFinalStateUnknown)(nil),
		cache.DeletedFinalStateUnknown{Obj: &corev1.Pod{}},
		cache.DeletedFinalStateUnknown{Obj: (*batchv1.Job)(nil)},
	} {
		w.guard.OnDelete(obj)
	}
	f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Failed, ResourceVersion: "1"})
	assert.Equal(t, "CachePastCreate", f.Source, "none of them is a tombstone")
}

func TestTombstonesAreBounded(t *testing.T) {
	for limit, kept := range map[int]int{0: 1024, 3: 3, 1: 1, -1: 0} {
		w := newWorld(t, jobgc.Options{Tombstones: limit})
		const all = 3000
		for i := range all {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: types.UID(fmt.Sprint(i))}}
			finish(time.Now())(job)
			w.guard.OnDelete(job)
			w.guard.OnDelete(job)
		}
		found := 0
		for i := range all {
			f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: types.UID(fmt.Sprint(i)), ResourceVersion: "1", Outcome: jobgc.Succeeded})
			if f.Source == "Tombstone" {
				found++
				assert.GreaterOrEqual(t, i, all-kept, "the last ones are kept")
			}
		}
		assert.Equal(t, kept, found, limit)
	}
}

// A thousand Jobs are remembered, without their largest parts.
func TestTombstone_HasNoPodTemplate(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "job", UID: "uid-1", ResourceVersion: "7", Labels: map[string]string{"app": "agent"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "agent"}},
	}}
	job.Spec.TTLSecondsAfterFinished, job.Spec.Completions = ptr.To[int32](60), ptr.To[int32](1)
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent"}}
	finish(time.Now())(job)
	given := job.DeepCopy()
	w.guard.OnDelete(job)
	assert.Equal(t, given, job, "the object is the informer's")

	f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: "uid-1", ResourceVersion: "1"})
	require.Equal(t, "Tombstone", f.Source)
	given.ManagedFields, given.Spec.Template = nil, corev1.PodTemplateSpec{}
	assert.Equal(t, given, f.Job)
}

func TestHint(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason  string
		ttl     *int32
		deleted time.Duration // after the finish; 0 for an unknown time
		want    string
	}{
		"TTL":        {"The TTL was over at the deletion.", ptr.To[int32](60), time.Minute, "by its TTL"},
		"Early":      {"The Job was deleted before its TTL was over.", ptr.To[int32](60), 59 * time.Second, "TTL was not over"},
		"NoTTL":      {"Without a TTL, the TTL controller did not delete the Job.", nil, time.Minute, "it had no TTL"},
		"NoIdea":     {"Without a deletion time there is no hint.", ptr.To[int32](60), 0, ""},
		"LongestTTL": {"A TTL of 68 years must not wrap.", ptr.To[int32](1<<31 - 1), time.Hour, "TTL was not over"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "mine"}}
			finish(at)(job)
			job.Spec.TTLSecondsAfterFinished = tc.ttl
			if tc.deleted != 0 {
				job.DeletionTimestamp = ptr.To(metav1.NewTime(at.Add(tc.deleted)))
			}
			w.guard.OnDelete(job)
			f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"})
			require.Equal(t, jobgc.Finished, f.State)
			assert.Contains(t, f.Hint, tc.want, tc.reason)
			assert.Equal(t, tc.want == "", f.Hint == "")
		})
	}
}

// TestTombstone_OfAReleasedJob keeps no Job, since its owner has recorded the
// outcome.
func TestTombstone_OfAReleasedJob(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "job", UID: "uid-1", ResourceVersion: "7",
		Annotations: map[string]string{"jobgc.controllerkit.dev/released": "2026-03-01T12:00:00Z"},
	}}
	finish(time.Now())(job)
	w.guard.OnDelete(job)
	f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: "uid-1", ResourceVersion: "1", Outcome: jobgc.Succeeded})
	assert.Equal(t, jobgc.Collected, f.State)
	assert.Nil(t, f.Job)
}

// TestTombstone_OfAJobThatWasRecreated while the watch was away: the informer
// lists again, calls OnUpdate with both Jobs, and OnDelete with none.
func TestTombstone_OfAJobThatWasRecreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, jobgc.Options{})
		ref := w.ensured(t)
		w.guard.OnAdd(w.jobs["job"], false)
		last := w.change("job", finish(time.Now()))
		w.guard.OnUpdate(nil, last)
		w.remove("job")
		next := w.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "successor"}})
		w.store.sync(w.server)
		w.guard.OnUpdate(last, next)
		time.Sleep(1100 * time.Millisecond)
		f := w.look(t, ref)
		if f.State == jobgc.Pending {
			time.Sleep(1100 * time.Millisecond)
			f = w.look(t, ref)
		}
		assert.Equal(t, jobgc.Finished, f.State, "%+v", f)
		assert.Equal(t, jobgc.Succeeded, f.Outcome)
	})
}
