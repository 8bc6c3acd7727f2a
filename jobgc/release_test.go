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

	"github.com/proompteng/controllerkit/jobgc"
)

func TestRelease(t *testing.T) {
	hour, zero := time.Hour, time.Duration(0)
	cases := map[string]struct {
		reason  string
		outcome jobgc.Outcome
		has     *int32
		keep    jobgc.Retention
		want    *int32
		patches int
	}{
		"Succeeded":   {"Each outcome has its own time.", jobgc.Succeeded, new(int32(604800)), jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"Failed":      {"Each outcome has its own time.", jobgc.Failed, new(int32(604800)), jobgc.Retention{Succeeded: &zero, Failed: &hour}, new(int32(3660)), 1},
		"KeepForGood": {"The backstop is taken off.", jobgc.Failed, new(int32(604800)), jobgc.Retention{Succeeded: &hour}, nil, 1},
		"KeptForGood": {"There is nothing to take off.", jobgc.Failed, nil, jobgc.Retention{Succeeded: &hour}, nil, 0},
		"AtOnce":      {"Its result is recorded.", jobgc.Succeeded, new(int32(604800)), jobgc.Retention{Succeeded: &zero}, new(int32(0)), 1},
		"TooShort":    {"A TTL from elsewhere, shorter than was promised.", jobgc.Succeeded, new(int32(3599)), jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"TooLong":     {"Longer than was promised.", jobgc.Succeeded, new(int32(3661)), jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"TheBackstop": {"What looks like a release is the backstop.", jobgc.Succeeded, new(int32(3630)), jobgc.Retention{Succeeded: &hour, Backstop: 3630 * time.Second}, new(int32(3660)), 1},
		"Unset":       {"Someone took the backstop off.", jobgc.Succeeded, nil, jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"Clamped":     {"Less than 30 s is 30 s.", jobgc.Succeeded, new(int32(604800)), jobgc.Retention{Succeeded: new(time.Second)}, new(int32(90)), 1},
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
				f := w.look(t, ref)
				ref.Outcome = tc.outcome
				require.NoError(t, w.guard.Release(t.Context(), ref, f, tc.keep), tc.reason)
				assert.Equal(t, tc.want, w.jobs["job"].Spec.TTLSecondsAfterFinished, tc.reason)
				assert.Equal(t, tc.patches, w.patches, tc.reason)
				assert.Equal(t, tc.patches > 0, w.jobs["job"].Annotations["jobgc.controllerkit.dev/released"] != "", "and it says so on the Job")
			})
		})
	}
}

// What was released is not released again, whatever the settings or the TTL are by then: what was promised is kept, and an
// operator who sets another TTL by hand is not overruled.
func TestReleaseOnce(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(*batchv1.Job)
		keep   time.Duration
		want   *int32
	}{
		"Later":        {"The time since must not lengthen it.", func(*batchv1.Job) {}, time.Hour, new(int32(3600))},
		"ShorterSince": {"The setting was lowered: that counts for the next Jobs.", func(*batchv1.Job) {}, time.Minute, new(int32(3600))},
		"LongerByHand": {"Somebody wants to look at it for longer.", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(86400)) }, time.Hour, new(int32(86400))},
		"KeptByHand":   {"Somebody wants to keep it.", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil }, time.Hour, nil},
		"AsTheBackstop": {
			"A TTL that equals the backstop is no matter.", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(604800)) }, time.Hour, new(int32(604800)),
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
				require.NoError(t, w.guard.Release(t.Context(), ref, w.look(t, ref), jobgc.Retention{Succeeded: new(time.Hour)}))
				w.change("job", tc.edit)
				w.store.sync(w.server)
				w.guard = newGuard(t, w, jobgc.Options{})
				time.Sleep(time.Minute)
				require.NoError(t, w.guard.Release(t.Context(), ref, w.look(t, ref), jobgc.Retention{Succeeded: &tc.keep}))
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
		require.NoError(t, w.guard.Release(t.Context(), ref, w.look(t, ref), jobgc.Retention{Succeeded: new(time.Hour)}))
		w.store.sync(w.server)
	}
	assert.NotEmpty(t, w.jobs["job"].Annotations["jobgc.controllerkit.dev/released"])
	assert.Equal(t, 1, w.patches)
}

// A Job whose result is not recorded keeps its backstop.
func TestReleaseRefuses(t *testing.T) {
	done := &batchv1.Job{}
	finish(time.Now())(done)
	finished := jobgc.Judge(done)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Succeeded}
	cases := map[string]struct {
		ref     jobgc.Ref
		finding jobgc.Finding
		names   string
	}{
		"NotRecorded": {jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"}, finished, "ref.outcome"},
		"NoFinding":   {ref, jobgc.Finding{}, "finding.state"},
		"Active":      {ref, jobgc.Judge(&batchv1.Job{}), "finding.state"},
		"Pending":     {ref, jobgc.Finding{State: jobgc.Pending}, "finding.state"},
		"NotCreated":  {ref, jobgc.Finding{State: jobgc.NotCreated}, "finding.state"},
		"NoJob":       {ref, jobgc.Finding{State: jobgc.Finished}, "finding.job is nil; pass what Look returned"},
		"NoJobYet":    {jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"}, jobgc.Finding{State: jobgc.Finished}, "ref.outcome"},
		"NoUID":       {jobgc.Ref{Namespace: "ns", Name: "job", Outcome: jobgc.Succeeded}, finished, "uid"},
		"NoNamespace": {jobgc.Ref{Name: "job", UID: "mine", Outcome: jobgc.Succeeded}, finished, "namespace"},
		"OtherJob":    {jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Succeeded}, jobgc.Judge(done), "uid"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			require.ErrorContains(t, w.guard.Release(t.Context(), tc.ref, tc.finding, jobgc.Retention{}), tc.names)
			assert.Zero(t, w.patches)
		})
	}
}

func TestReleaseOfWhatIsGone(t *testing.T) {
	g, err := jobgc.New(func(string) fakeJobs { return fakeJobs{} }, nil, jobgc.Options{Hold: hold})
	require.NoError(t, err)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Failed}
	for _, s := range []jobgc.State{jobgc.Missing, jobgc.Replaced, jobgc.Deleting, jobgc.Collected} {
		require.NoError(t, g.Release(t.Context(), ref, jobgc.Finding{State: s}, jobgc.Retention{}), s)
	}
	ref.Released = true
	require.NoError(t, g.Release(t.Context(), ref, jobgc.Finding{}, jobgc.Retention{}), "once is enough")
}

// Only that this very Job is gone is success: a 404 about something else leaves a Job that nobody lets go.
func TestReleaseIsNotFooledBy404(t *testing.T) {
	job := ownedJob()
	job.UID = "mine"
	finish(time.Now())(job)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Failed}
	for name, tc := range map[string]struct {
		err  error
		says string
	}{
		"ThisJob":   {notFound("job"), ""},
		"OtherJob":  {notFound("another"), `jobgc: release: ns/job: a 404 about jobs.batch "another", want jobs.batch "job"`},
		"Namespace": {notFoundOf("", "namespaces", "ns"), `jobgc: release: ns/job: a 404 about namespaces "ns", want jobs.batch "job"`},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := jobgc.New(func(string) fakeJobs {
				return fakeJobs{patch: func(string, []byte) (*batchv1.Job, error) { return nil, tc.err }}
			}, nil, jobgc.Options{})
			require.NoError(t, err)
			err = g.Release(t.Context(), ref, jobgc.Judge(job), jobgc.Retention{Failed: new(time.Hour)})
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestReleaseClientNil(t *testing.T) {
	g, err := jobgc.New(func(string) jobgc.Jobs { return nil }, nil, jobgc.Options{})
	require.NoError(t, err)
	job := ownedJob()
	job.UID = "mine"
	finish(time.Now())(job)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Failed}
	require.ErrorContains(t, g.Release(t.Context(), ref, jobgc.Judge(job), jobgc.Retention{Failed: new(time.Hour)}), "is nil")
}
