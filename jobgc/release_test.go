// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestRelease(t *testing.T) {
	hour := time.Hour
	cases := map[string]struct {
		reason  string
		outcome jobgc.Outcome
		has     *int32
		keep    jobgc.Retention
		want    *int32
		patches int
	}{
		"Succeeded":   {"Each outcome has its own TTL.", jobgc.Succeeded, ptr.To[int32](604800), jobgc.Retention{SucceededTTL: hour}, ptr.To[int32](3660), 1},
		"Failed":      {"Each outcome has its own TTL.", jobgc.Failed, ptr.To[int32](604800), jobgc.Retention{FailedTTL: hour}, ptr.To[int32](3660), 1},
		"KeepForGood": {"The backstop TTL is removed.", jobgc.Failed, ptr.To[int32](604800), jobgc.Retention{SucceededTTL: hour}, nil, 1},
		"KeptForGood": {"There is no TTL to remove.", jobgc.Failed, nil, jobgc.Retention{SucceededTTL: hour}, nil, 0},
		"AtOnce":      {"A recorded result allows a short TTL.", jobgc.Succeeded, ptr.To[int32](604800), jobgc.Retention{SucceededTTL: time.Second}, ptr.To[int32](61), 1},
		"TooShort":    {"A TTL of another client that is shorter than the retention is raised.", jobgc.Succeeded, ptr.To[int32](3599), jobgc.Retention{SucceededTTL: hour}, ptr.To[int32](3660), 1},
		"TooLong":     {"A TTL that is longer than the retention is lowered.", jobgc.Succeeded, ptr.To[int32](3661), jobgc.Retention{SucceededTTL: hour}, ptr.To[int32](3660), 1},
		"TheBackstop": {"A backstop close to the final TTL is not a release.", jobgc.Succeeded, ptr.To[int32](3630), jobgc.Retention{SucceededTTL: hour, UnrecordedTTL: 3630 * time.Second}, ptr.To[int32](3660), 1},
		"Unset":       {"Another client removed the backstop TTL.", jobgc.Succeeded, nil, jobgc.Retention{SucceededTTL: hour}, ptr.To[int32](3660), 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, jobgc.Options{Retention: tc.keep})
				ref := w.ensured(t)
				w.change("job", func(j *batchv1.Job) {
					finish(time.Now())(j)
					j.Spec.TTLSecondsAfterFinished = tc.has
				})
				w.store.sync(w.server)
				time.Sleep(time.Minute)
				ref.Outcome = tc.outcome
				require.NoError(t, release(t.Context(), w.guard, ref, tc.keep), tc.reason)
				assert.Equal(t, tc.want, w.jobs["job"].Spec.TTLSecondsAfterFinished, tc.reason)
				assert.Equal(t, tc.patches, w.patches, tc.reason)
				assert.Equal(t, tc.patches > 0, w.jobs["job"].Annotations["jobgc.controllerkit.dev/released"] != "", "an annotation on the Job records the release")
			})
		})
	}
}

// A released Job is not released again, even if the settings or its TTL have
// changed. The first TTL is kept, and an operator who sets another TTL by hand
// is not overruled.
//
//req:shows J4
func TestReleaseOnce(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(*batchv1.Job)
		keep   time.Duration
		want   *int32
	}{
		"Later":        {"The time since the release must not make the TTL longer.", func(*batchv1.Job) {}, time.Hour, ptr.To[int32](3600)},
		"ShorterSince": {"A lower setting applies only to later Jobs.", func(*batchv1.Job) {}, time.Minute, ptr.To[int32](3600)},
		"LongerByHand": {"An operator wants to inspect the Job for longer.", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = ptr.To[int32](86400) }, time.Hour, ptr.To[int32](86400)},
		"KeptByHand":   {"An operator wants to keep the Job.", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil }, time.Hour, nil},
		"AsTheBackstop": {
			"A TTL set by hand may equal the backstop.", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = ptr.To[int32](604800) }, time.Hour, ptr.To[int32](604800),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, jobgc.Options{})
				ref := w.ensured(t)
				w.change("job", finish(time.Now()))
				w.store.sync(w.server)
				ref.Outcome = jobgc.Succeeded
				require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
				w.change("job", tc.edit)
				w.store.sync(w.server)
				w.guard = newGuard(t, w, jobgc.Options{})
				time.Sleep(time.Minute)
				require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: tc.keep}))
				assert.Equal(t, tc.want, w.jobs["job"].Spec.TTLSecondsAfterFinished, tc.reason)
				assert.Equal(t, 1, w.patches, tc.reason)
			})
		})
	}
}

// A Job that was adopted may have no annotations at all.
func TestReleaseWithoutAnnotations(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	ref := w.ensured(t)
	w.change("job", func(j *batchv1.Job) { finish(time.Now())(j); j.Annotations = nil })
	w.store.sync(w.server)
	ref.Outcome = jobgc.Succeeded
	for range 2 {
		require.NoError(t, release(t.Context(), w.guard, ref, jobgc.Retention{SucceededTTL: time.Hour}))
		w.store.sync(w.server)
	}
	assert.NotEmpty(t, w.jobs["job"].Annotations["jobgc.controllerkit.dev/released"])
	assert.Equal(t, 1, w.patches)
}

// Release succeeds on a 404 only if it is about this very Job. A 404 about
// something else would leave a Job that is never released.
func TestReleaseIsNotFooledBy404(t *testing.T) {
	job := ownedJob()
	job.UID, job.Annotations, job.Spec.TTLSecondsAfterFinished = "mine", map[string]string{annotation: "x"}, ptr.To[int32](604800)
	finish(time.Now())(job)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Failed}
	for name, tc := range map[string]struct {
		err  error
		says string
	}{
		"ThisJob":   {notFound("job"), ""},
		"OtherJob":  {notFound("another"), `jobgc: step: release ns/job: a 404 about jobs.batch "another", want jobs.batch "job"`},
		"Namespace": {notFoundOf("", "namespaces", "ns"), `jobgc: step: release ns/job: a 404 about namespaces "ns", want jobs.batch "job"`},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := jobgc.NewUncached(func(string) fakeJobs {
				return fakeJobs{
					get:   func(string) (*batchv1.Job, error) { return job, nil },
					patch: func(string, []byte) (*batchv1.Job, error) { return nil, tc.err },
				}
			}, jobgc.Options{})
			require.NoError(t, err)
			err = release(t.Context(), g, ref, jobgc.Retention{FailedTTL: time.Hour})
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestReleaseClientNil(t *testing.T) {
	g, err := jobgc.NewUncached(func(string) batchv1client.JobInterface { return nil }, jobgc.Options{})
	require.NoError(t, err)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Failed}
	require.ErrorContains(t, release(t.Context(), g, ref, jobgc.Retention{FailedTTL: time.Hour}), "is nil")
}
