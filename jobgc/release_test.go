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
		"Succeeded":      {"Each outcome has its own time.", jobgc.Succeeded, new(int32(604800)), jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"Failed":         {"Each outcome has its own time.", jobgc.Failed, new(int32(604800)), jobgc.Retention{Succeeded: &zero, Failed: &hour}, new(int32(3660)), 1},
		"KeepForGood":    {"The backstop is taken off.", jobgc.Failed, new(int32(604800)), jobgc.Retention{Succeeded: &hour}, nil, 1},
		"KeptForGood":    {"There is nothing to take off.", jobgc.Failed, nil, jobgc.Retention{Succeeded: &hour}, nil, 0},
		"AtOnce":         {"Its result is recorded.", jobgc.Succeeded, new(int32(604800)), jobgc.Retention{Succeeded: &zero}, new(int32(0)), 1},
		"AppliedBefore":  {"Half a minute ago.", jobgc.Succeeded, new(int32(3630)), jobgc.Retention{Succeeded: &hour}, new(int32(3630)), 0},
		"AppliedAtOnce":  {"When it finished.", jobgc.Succeeded, new(int32(3600)), jobgc.Retention{Succeeded: &hour}, new(int32(3600)), 0},
		"AppliedJustNow": {"This very second.", jobgc.Succeeded, new(int32(3660)), jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 0},
		"TooShort":       {"A TTL from elsewhere, shorter than was promised.", jobgc.Succeeded, new(int32(3599)), jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"TooLong":        {"Longer than any release can have set.", jobgc.Succeeded, new(int32(3661)), jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"TheBackstop":    {"What looks like a release is the backstop.", jobgc.Succeeded, new(int32(3630)), jobgc.Retention{Succeeded: &hour, Backstop: 3630 * time.Second}, new(int32(3660)), 1},
		"Unset":          {"Someone took the backstop off.", jobgc.Succeeded, nil, jobgc.Retention{Succeeded: &hour}, new(int32(3660)), 1},
		"Clamped":        {"Less than 30 s is 30 s.", jobgc.Succeeded, new(int32(604800)), jobgc.Retention{Succeeded: new(time.Second)}, new(int32(90)), 1},
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
			})
		})
	}
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
	g, err := jobgc.New(func(string) fakeJobs { return fakeJobs{} }, nil, jobgc.Options{})
	require.NoError(t, err)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", Outcome: jobgc.Failed}
	for _, s := range []jobgc.State{jobgc.Missing, jobgc.Replaced, jobgc.Deleting, jobgc.Collected} {
		require.NoError(t, g.Release(t.Context(), ref, jobgc.Finding{State: s}, jobgc.Retention{}), s)
	}
	ref.Released = true
	require.NoError(t, g.Release(t.Context(), ref, jobgc.Finding{}, jobgc.Retention{}), "once is enough")
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
