// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_ReadsTheOwnerBeforeItChangesARunningJob: a late copy changes
// nothing.
func TestStep_ReadsTheOwnerBeforeItChangesARunningJob(t *testing.T) {
	late := map[string]func(*stage){
		"Generation": func(s *stage) { s.stored.Generation++ },
		"Outcome":    func(s *stage) { s.stored.job.Outcome = jobgc.Succeeded },
		"Done":       func(s *stage) { s.stored.done = !s.stored.done },
		"Deleting":   func(s *stage) { s.stored.DeletionTimestamp = ptr.To(metav1.Now()) },
		"Gone":       func(s *stage) { s.stored = nil },
		"Recreated":  func(s *stage) { s.stored.UID = "another" },
	}
	for act, edit := range map[string]func(*jobgc.Request){
		"Suspend": func(req *jobgc.Request) { req.Suspend = ptr.To(true) },
		"Cancel":  func(req *jobgc.Request) { req.Cancel = true },
		"Delete":  func(req *jobgc.Request) { req.Cancel, req.Done = true, true },
	} {
		for name, change := range late {
			t.Run(act+"/"+name, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				s.step(t)
				s.store.sync(s.server)
				mine := *s.stored
				mine.job = s.stored.job.DeepCopy()
				mine.ObjectMeta = *s.stored.DeepCopy()
				s.stored.done = act == "Delete"
				change(s)
				s.edit = edit
				reads := s.reads
				_, found, err := s.guard.Step(t.Context(), s.request(&mine))
				require.NoError(t, err)
				assert.Equal(t, jobgc.Pending, found.State)
				assert.Equal(t, "OwnerChanged", found.Reason)
				assert.Equal(t, time.Second, found.After)
				assert.Equal(t, reads+1, s.reads)
				assert.Equal(t, []int{1, 0, 0, 0, reads + 1}, s.requests())
			})
		}
		t.Run(act+"/Away", func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.step(t)
			s.store.sync(s.server)
			s.stored.done = act == "Delete"
			s.edit = func(req *jobgc.Request) {
				edit(req)
				req.Stored = away
			}
			_, found, err := s.guard.Step(t.Context(), s.request(s.stored))
			require.ErrorContains(t, err, "Request.Stored: no route to host")
			assert.Zero(t, found)
			assert.Equal(t, []int{1, 0, 0, 0, 1}, s.requests())
		})
	}
}

// away is a Request.Stored without an answer.
func away(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
	return nil, nil, false, errors.New("no route to host")
}

// TestStep_ReportsNoLossWithoutTheOwner: it may have the outcome.
func TestStep_ReportsNoLossWithoutTheOwner(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.job = &jobgc.Ref{Name: jobOfRun, UID: "1"}
	s.edit = func(req *jobgc.Request) { req.Stored = away }
	_, found, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorContains(t, err, "Request.Stored: no route to host")
	assert.Zero(t, found)
}

// TestStep_SuspendsAJobThatVanishes: it is lost.
func TestStep_SuspendsAJobThatVanishes(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.store.sync(s.server)
	s.remove(jobOfRun)
	s.edit = func(req *jobgc.Request) { req.Suspend = ptr.To(true) }
	assert.Equal(t, jobgc.Missing, s.step(t).State)
}

// TestStep_CancelsNoRunWithAnOutcome: its Job is gone.
func TestStep_CancelsNoRunWithAnOutcome(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.job = &jobgc.Ref{Name: jobOfRun, UID: "1", Outcome: jobgc.Failed}
	s.edit = func(req *jobgc.Request) { req.Cancel = true }
	found := s.step(t)
	assert.Equal(t, jobgc.Collected, found.State)
	assert.Equal(t, jobgc.Failed, found.Outcome)
}

// TestStep_ReleasesNothingForAnEndInMemory: the caller set Done before a write
// that failed, or its CRD prunes the Outcome.
func TestStep_ReleasesNothingForAnEndInMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		change   func(*stage, *agentRun) // the stored owner, and the caller's copy
		released int
	}{
		"Memory":  {"The stored owner still waits.", func(_ *stage, mine *agentRun) { mine.done = true }, 0},
		"Pruned":  {"The stored owner has ended.", func(s *stage, mine *agentRun) { mine.done, s.stored.done = true, true }, 1},
		"Late":    {"The stored owner has the outcome.", func(s *stage, mine *agentRun) { mine.done, s.stored.job.Outcome = true, jobgc.Succeeded }, 1},
		"Gone":    {"No owner waits.", func(s *stage, mine *agentRun) { mine.done, s.stored = true, nil }, 1},
		"Outcome": {"The caller records nothing else.", func(_ *stage, mine *agentRun) { mine.job.Outcome = jobgc.Succeeded }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Finalizer: holder})
			s.step(t)
			s.change(jobOfRun, finish(time.Now()))
			s.store.sync(s.server)
			mine := *s.stored
			mine.job = s.stored.job.DeepCopy()
			tc.change(s, &mine)
			for range 2 {
				_, _, err := s.guard.Step(t.Context(), s.request(&mine))
				require.NoError(t, err)
			}
			assert.Equal(t, tc.released, s.patches, tc.reason)
			assert.Equal(t, tc.released == 0, len(s.jobs[jobOfRun].Finalizers) == 1, tc.reason)
		})
	}
	t.Run("Away", func(t *testing.T) {
		s := newStage(t, jobgc.Options{Finalizer: holder})
		s.step(t)
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		s.stored.done = true
		s.edit = func(req *jobgc.Request) { req.Stored = away }
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "Request.Stored: no route to host")
		assert.Zero(t, s.patches)
	})
}

// TestStep_DeleteThatIsRefused: a 409 says only that the Job has changed.
func TestStep_DeleteThatIsRefused(t *testing.T) {
	conflict := apierrors.NewConflict(jobResource, jobOfRun, errors.New("the precondition differs"))
	cancelled := func(t *testing.T) *stage {
		t.Helper()
		s := newStage(t, jobgc.Options{})
		s.step(t)
		s.edit = func(req *jobgc.Request) { req.Cancel = true }
		s.store.sync(s.server)
		s.step(t)
		require.True(t, s.stored.done)
		s.store.sync(s.server)
		return s
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*stage)
		refuse error
		state  jobgc.State
		again  bool
		says   string
	}{
		"Finished":  {"It keeps its outcome.", func(s *stage) { s.change(jobOfRun, finish(time.Now())) }, nil, jobgc.Finished, true, ""},
		"Changed":   {"The next call tries again.", func(s *stage) { s.change(jobOfRun, func(*batchv1.Job) {}) }, nil, jobgc.Cancelled, true, ""},
		"Gone":      {"Nothing is left.", func(s *stage) { s.remove(jobOfRun) }, nil, jobgc.Cancelled, false, ""},
		"Replaced":  {"The other Job stays.", func(s *stage) { s.change(jobOfRun, func(j *batchv1.Job) { j.UID = "another" }) }, nil, jobgc.Cancelled, false, ""},
		"GoneSince": {"It was deleted after the conflict.", func(s *stage) { s.remove(jobOfRun) }, conflict, jobgc.Cancelled, false, ""},
		"Proxy":     {"No API server wrote it.", func(*stage) {}, apierrors.NewGenericServerResponse(409, "delete", jobResource, jobOfRun, "<html>", 0, true), "", false, "delete ns/run-run-uid: "},
		"Forbidden": {
			"The role lacks the verb.", func(*stage) {}, apierrors.NewForbidden(jobResource, jobOfRun, errors.New("no delete")),
			"", false, "delete ns/run-run-uid, which needs the verb delete: ",
		},
		"Conflict": {"The Job is there.", func(*stage) {}, conflict, jobgc.Cancelled, true, ""},
		"Away": {
			"Nothing is known after the conflict.", func(s *stage) { s.away = errors.New("no route to host") }, conflict,
			"", false, "ns/run-run-uid: no route to host",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := cancelled(t)
			tc.change(s)
			s.keep = tc.refuse
			_, found, err := s.guard.Step(t.Context(), s.request(s.stored))
			if tc.says != "" {
				require.ErrorContains(t, err, "jobgc: step: "+tc.says, tc.reason)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.state, found.State, tc.reason)
			assert.Equal(t, tc.again, found.After == time.Second, tc.reason)
		})
	}
}

// TestStep_AfterARestoredStore: the cache may be from before the restore.
func TestStep_AfterARestoredStore(t *testing.T) {
	t.Run("Running", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.step(t)
		s.change(jobOfRun, func(j *batchv1.Job) { j.DeletionTimestamp = ptr.To(metav1.Now()) })
		s.store.sync(s.server)
		s.change(jobOfRun, func(j *batchv1.Job) { j.DeletionTimestamp = nil })
		found := s.step(t)
		assert.Equal(t, jobgc.Active, found.State, "the cache says that it is being deleted")
		assert.Equal(t, "LiveRead", found.Source)
	})
	t.Run("Recorded", func(t *testing.T) {
		s := newStage(t, jobgc.Options{Finalizer: holder, Retention: jobgc.Retention{SucceededTTL: time.Hour}})
		s.step(t)
		backup := s.jobs[jobOfRun].DeepCopy()
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		s.step(t)
		s.put(backup)
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "has not finished")
		assert.Nil(t, s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished, "it runs, and its outcome is not recorded")
		assert.NotEmpty(t, s.jobs[jobOfRun].Finalizers)
	})
	t.Run("Held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Finalizer: holder})
			s.step(t)
			backup := s.change(jobOfRun, finish(time.Now())).DeepCopy()
			s.store.sync(s.server)
			s.step(t)
			s.step(t)
			require.Empty(t, s.jobs[jobOfRun].Finalizers, "released")
			s.put(backup)
			s.store.sync(s.server)
			time.Sleep(11 * time.Second)
			s.step(t)
			assert.Empty(t, s.jobs[jobOfRun].Finalizers, "and again")
		})
	})
}

// TestStep_ReleasesWithoutBuildingTheJob: its Secret may be gone.
func TestStep_ReleasesWithoutBuildingTheJob(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour}})
	s.step(t)
	s.change(jobOfRun, finish(time.Now()))
	s.store.sync(s.server)
	s.edit = func(req *jobgc.Request) { req.Job = func() (*batchv1.Job, error) { return nil, errUnexpected } }
	s.step(t)
	s.step(t)
	assert.NotNil(t, s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished)
}

// TestStep_FindsAReleaseOfAnotherReplica: its cache is late, and the API server
// refuses its patch. Another Job of that name is not released.
func TestStep_FindsAReleaseOfAnotherReplica(t *testing.T) {
	finished := func(t *testing.T) *stage {
		t.Helper()
		s := newStage(t, jobgc.Options{Finalizer: holder})
		s.step(t)
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		s.step(t)
		return s
	}
	for name, change := range map[string]func(*batchv1.Job){
		"Released": func(j *batchv1.Job) { j.Finalizers = nil },
		"Replaced": func(j *batchv1.Job) { j.UID = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			s := finished(t)
			want := s.change(jobOfRun, change).DeepCopy()
			found := s.step(t)
			assert.Equal(t, jobgc.Finished, found.State)
			assert.Equal(t, 1, s.patches, "nothing is left to do")
			assert.Equal(t, 1, s.gets)
			assert.Equal(t, want, s.jobs[jobOfRun])
		})
	}
	t.Run("Away", func(t *testing.T) {
		s := finished(t)
		s.change(jobOfRun, func(j *batchv1.Job) { j.Finalizers = nil })
		s.away = errors.New("no route to host")
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "no route to host")
	})
}

// TestStep_ACancelledRunLeavesTheJobsOfOthers, also of its name.
func TestStep_ACancelledRunLeavesTheJobsOfOthers(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	job := ownedJob()
	job.Name = jobOfRun
	job.UID = "x"
	job.OwnerReferences = []metav1.OwnerReference{ownerRef("another", "y")}
	s.put(job)
	s.edit = func(req *jobgc.Request) { req.Cancel = true }
	assert.Equal(t, jobgc.Cancelled, s.step(t).State)
	assert.Nil(t, s.stored.job)
	assert.Equal(t, []int{0, 1, 0, 0, 0}, s.requests())
}

// TestStep_RefusesAnAnswerWithoutAUID, as of client-go's fake clientset.
func TestStep_RefusesAnAnswerWithoutAUID(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	bare := func(job *batchv1.Job) (*batchv1.Job, error) { return job, nil }
	g, err := jobgc.New(func(string) fakeJobs { return fakeJobs{create: bare} }, s.store, jobgc.Options{})
	require.NoError(t, err)
	_, _, err = g.Step(t.Context(), s.request(s.stored))
	require.ErrorContains(t, err, `returned a Job with the name "run-run-uid" and the uid "", want this name and a uid`)
}
