// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_LooksForTheJobOfAnEarlierVersion live, because the cache may lack
// it.
func TestStep_LooksForTheJobOfAnEarlierVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		created time.Duration      // of the owner, since the first Step
		edit    func(*batchv1.Job) // of the Job nightly
		asks    string             // Request.Name
		isFound bool
	}{
		"Older":      {"An earlier version may have created its Job.", -time.Hour, func(*batchv1.Job) {}, "", true},
		"Standby":    {"New was called an hour before.", -time.Minute, func(*batchv1.Job) {}, "", true},
		"ClockAhead": {"The API server's clock may be a minute ahead.", 59 * time.Second, func(*batchv1.Job) {}, "", true},
		"New":        {"The other version has stopped.", 61 * time.Second, func(*batchv1.Job) {}, "", false},
		"Named":      {"The request says which name is its.", -time.Hour, func(*batchv1.Job) {}, "daily", false},
		"NoOwner":    {"It has no controller.", -time.Hour, func(j *batchv1.Job) { j.OwnerReferences = nil }, "", false},
		"Own":        {"A call that was cut off created it.", -time.Hour, func(j *batchv1.Job) { j.Name = jobOfRun }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				time.Sleep(time.Hour)
				old := ownedJob()
				old.Name = "nightly"
				old.UID = "old"
				tc.edit(old)
				s.put(old)
				s.edit = func(req *jobgc.Request) { req.Name = tc.asks }
				s.stored.CreationTimestamp = metav1.NewTime(time.Now().Add(tc.created))
				_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
				if tc.isFound {
					require.ErrorContains(t, err, "Request.Owner controls the Job ns/nightly, which Step has not created", tc.reason)
					assert.Zero(t, s.creates)
					return
				}
				require.NoError(t, err, tc.reason)
				assert.Equal(t, 1, s.creates)
			})
		})
	}
}

// TestStep_TakesOverAJobThatChanges: a patch whose test fails is not the
// refusal of a policy.
func TestStep_TakesOverAJobThatChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*stage)
		want   []string // finalizers; nil: the Job is not taken over
	}{
		"Finalizer": {"Another controller has held it.", func(s *stage) {
			s.change("nightly", func(job *batchv1.Job) { job.Finalizers = []string{"a.example.com/a"} })
		}, []string{"a.example.com/a", holder}},
		"Replaced": {"It is another Job now.", func(s *stage) {
			s.change("nightly", func(job *batchv1.Job) { job.UID = "another" })
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Finalizer: holder})
			job := ownedJob()
			job.Name = "nightly"
			job.UID = "old"
			job.Spec.TTLSecondsAfterFinished = ptr.To[int32](30)
			s.put(job)
			s.store.sync(s.server)
			client := s.client("ns")
			patch := client.patch
			client.patch = func(name string, data []byte) (*batchv1.Job, error) {
				if s.patches == 0 {
					tc.change(s)
				}
				return patch(name, data)
			}
			g, err := jobgc.New(func(string) fakeJobs { return client }, s.store, jobgc.Options{Finalizer: holder})
			require.NoError(t, err)
			s.guard = g
			s.edit = func(req *jobgc.Request) { req.Name = "nightly" }
			found := s.step(t)
			if tc.want == nil {
				assert.Equal(t, jobgc.Pending, found.State, tc.reason)
				assert.Empty(t, s.jobs["nightly"].Finalizers, "the other Job stays as it is")
				assert.Nil(t, s.stored.job, tc.reason)
				return
			}
			assert.Equal(t, jobgc.Active, found.State, tc.reason)
			assert.Equal(t, tc.want, s.jobs["nightly"].Finalizers, tc.reason)
			assert.Nil(t, s.jobs["nightly"].Spec.TTLSecondsAfterFinished, tc.reason)
		})
	}
}

// TestStep_ProtectsAfterAnError: the next call finds the Job by its name.
func TestStep_ProtectsAfterAnError(t *testing.T) {
	s := newStage(t, jobgc.Options{Finalizer: holder})
	job := ownedJob()
	job.Name = jobOfRun
	job.UID = "old"
	s.put(job)
	s.refuse = apierrors.NewGenericServerResponse(http.StatusInternalServerError, "patch", jobResource, jobOfRun, "", 0, true)
	ref, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.Error(t, err)
	assert.Nil(t, ref)
	s.refuse = nil
	s.step(t)
	assert.Equal(t, types.UID("old"), s.stored.job.UID)
	assert.Equal(t, []string{holder}, s.jobs[jobOfRun].Finalizers)
}

// TestStep_HoldsNoJobOfAnOwnerThatIsBeingDeleted: nothing would release it.
func TestStep_HoldsNoJobOfAnOwnerThatIsBeingDeleted(t *testing.T) {
	s := newStage(t, jobgc.Options{Finalizer: holder})
	job := ownedJob()
	job.Name = jobOfRun
	job.UID = "old"
	s.put(job)
	s.stored.DeletionTimestamp = ptr.To(metav1.Now())
	s.step(t)
	assert.Equal(t, types.UID("old"), s.stored.job.UID)
	assert.Empty(t, s.jobs[jobOfRun].Finalizers)
}

// TestStep_CancelsWhatTheServerHas: the cache shows what was.
func TestStep_CancelsWhatTheServerHas(t *testing.T) {
	announce := func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuccessCriteriaMet, time.Now())}
	}
	suspend := func(job *batchv1.Job) { job.Spec.Suspend = ptr.To(true) }
	resume := func(job *batchv1.Job) {
		job.Spec.Suspend = ptr.To(false)
		finish(time.Now())(job)
	}
	for name, tc := range map[string]struct {
		reason         string
		cached, stored func(*batchv1.Job)
		want           jobgc.State
		patches        int
	}{
		"Resumed":   {"A queue has resumed it, and it has finished.", suspend, resume, jobgc.Finished, 0},
		"Suspended": {"It is stopped.", suspend, suspend, jobgc.Cancelled, 0},
		"Finishing": {"Its outcome is decided: nothing stops it.", announce, announce, jobgc.Finishing, 0},
		"Announced": {"Its outcome is decided, and the cache is late.", func(*batchv1.Job) {}, announce, jobgc.Finishing, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.step(t)
			s.change(jobOfRun, tc.cached)
			s.store.sync(s.server)
			s.change(jobOfRun, tc.stored)
			s.edit = func(req *jobgc.Request) { req.Cancel = true }
			assert.Equal(t, tc.want, s.step(t).State, tc.reason)
			assert.Equal(t, tc.patches, s.patches, tc.reason)
			assert.Equal(t, tc.want == jobgc.Cancelled || tc.want == jobgc.Finished, s.stored.done)
		})
	}
}

// TestStep_LooksAgainAtAJobOfAnEndedRunWithoutACache: it is released when it
// finishes.
func TestStep_LooksAgainAtAJobOfAnEndedRunWithoutACache(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	g, err := jobgc.New(s.client, nil, jobgc.Options{})
	require.NoError(t, err)
	s.guard = g
	s.step(t)
	s.stored.done = true
	assert.Equal(t, 10*time.Second, s.step(t).After)
}

// TestStep_ARunThatHasEndedDoesNotRunAgain: the cache is late.
func TestStep_ARunThatHasEndedDoesNotRunAgain(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.store.sync(s.server)
	s.stored.job.Outcome = jobgc.Succeeded
	s.stored.done = true
	assert.Equal(t, jobgc.Pending, s.step(t).State)
	assert.Equal(t, jobgc.Succeeded, s.stored.job.Outcome)
}

// TestStep_ResumesNoJobThatStops: neither that of a run that has ended, nor one
// that ends while its run is cancelled.
func TestStep_ResumesNoJobThatStops(t *testing.T) {
	for name, tc := range map[string]struct {
		status []batchv1.JobCondition
		done   bool
	}{
		"Ended":     {nil, true},
		"Cancelled": {[]batchv1.JobCondition{holds(batchv1.JobFailureTarget, time.Now())}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.step(t)
			s.change(jobOfRun, func(job *batchv1.Job) {
				job.Spec.Suspend = ptr.To(true)
				job.Status.Conditions = tc.status
			})
			s.store.sync(s.server)
			s.stored.done = tc.done
			s.edit = func(req *jobgc.Request) {
				req.Suspend = ptr.To(false)
				req.Cancel = !tc.done
			}
			s.step(t)
			assert.Zero(t, s.patches)
		})
	}
}

// TestStep_CreatesNoJobForAnOwnerThatIsBeingDeleted: a live read shows that no
// call which was cut off has created one.
func TestStep_CreatesNoJobForAnOwnerThatIsBeingDeleted(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.DeletionTimestamp = ptr.To(metav1.Now())
	assert.Equal(t, jobgc.NotCreated, s.step(t).State)
	assert.Equal(t, []int{0, 1, 0, 0, 0}, s.requests())
}

// TestStep_TakesTheJobOfAnotherReplica whose predecessor the cache shows as
// being deleted, unless the predecessor is recorded or the Job is of another
// owner.
func TestStep_TakesTheJobOfAnotherReplica(t *testing.T) {
	for name, tc := range map[string]struct {
		owner metav1.OwnerReference
		ref   *jobgc.Ref
		want  jobgc.State
		uid   types.UID
	}{
		"NoRef":      {ownerRef("run", "run-uid"), nil, jobgc.Active, "second"},
		"Recorded":   {ownerRef("run", "run-uid"), &jobgc.Ref{Name: jobOfRun, UID: "first"}, jobgc.Replaced, "first"},
		"OtherOwner": {ownerRef("another", "y"), nil, jobgc.Replaced, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			job := ownedJob()
			job.Name = jobOfRun
			job.UID = "first"
			job.DeletionTimestamp = ptr.To(metav1.Now())
			s.put(job)
			s.store.sync(s.server)
			s.change(jobOfRun, func(job *batchv1.Job) {
				job.UID = "second"
				job.DeletionTimestamp = nil
				job.OwnerReferences = []metav1.OwnerReference{tc.owner}
			})
			s.stored.job = tc.ref
			assert.Equal(t, tc.want, s.step(t).State)
			assert.Equal(t, tc.uid, s.stored.job.UID)
		})
	}
}

// TestStep_ReadsAnOwnerWithoutAGeneration, such as a ConfigMap, by its
// resourceVersion.
func TestStep_ReadsAnOwnerWithoutAGeneration(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.ResourceVersion = "2"
	mine := newAgentRun()
	mine.ResourceVersion = "1"
	_, found, err := s.guard.Step(t.Context(), s.request(mine))
	require.NoError(t, err)
	assert.Equal(t, "OwnerChanged", found.Reason)
	assert.Zero(t, s.creates)
	s.stored.Generation = 1
	mine.Generation = 1
	_, found, err = s.guard.Step(t.Context(), s.request(mine))
	require.NoError(t, err)
	assert.Equal(t, jobgc.Active, found.State, "its spec is the same")
}

// TestStep_KeepsTheNamespaceOfARef when the owner asks for another namespace.
func TestStep_KeepsTheNamespaceOfARef(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.Namespace = ""
	s.edit = func(req *jobgc.Request) { req.Namespace = "ns" }
	s.step(t)
	s.store.sync(s.server)
	s.edit = func(req *jobgc.Request) { req.Namespace = "other" }
	assert.Equal(t, jobgc.Active, s.step(t).State)
	assert.Equal(t, "ns", s.stored.job.Namespace)
}

// TestStep_TakesOnlyANewJobForYoung: a cache without a new Job may be late.
func TestStep_TakesOnlyANewJobForYoung(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		age    time.Duration
		want   jobgc.State
	}{
		"New":    {"The cache may not show it yet.", 0, jobgc.Pending},
		"Old":    {"The cache would show it.", time.Hour, jobgc.Missing},
		"Future": {"The time is of a clock that is ahead.", -time.Hour, jobgc.Missing},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.step(t)
			s.remove(jobOfRun)
			created := metav1.NewTime(time.Now().Truncate(time.Second).Add(-tc.age))
			s.stored.job.CreatedAt = &created
			_, found, err := s.guard.Step(t.Context(), s.request(s.stored))
			require.NoError(t, err)
			assert.Equal(t, tc.want, found.State, tc.reason)
		})
	}
}
