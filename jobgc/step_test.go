// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// agentRun is an owner, as stored and as a copy of it.
type agentRun struct {
	metav1.ObjectMeta

	job        *jobgc.Ref
	done       bool
	recordedAt *metav1.Time // when step recorded the end
}

func newAgentRun() *agentRun {
	return &agentRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "run-uid"}}
}

const jobOfRun = "run-run-uid"

// stage is a world with a stored owner.
type stage struct {
	*world
	stored *agentRun // nil: it is gone
	reads  int
	edit   func(*jobgc.Request)
}

func newStage(t *testing.T, opts jobgc.Options) *stage {
	t.Helper()
	return &stage{world: newWorldAs(t, opts), stored: newAgentRun()}
}

func (s *stage) request(run *agentRun) jobgc.Request {
	req := jobgc.Request{
		Owner: run, Ref: run.job, Done: run.done,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			s.reads++
			if s.stored == nil {
				return nil, nil, false, notFoundOf("agents.example.com", "agentruns", "run")
			}
			return s.stored, s.stored.job, s.stored.done, nil
		},
		Job: func() (*batchv1.Job, error) {
			job := ownedJob()
			job.Name = ""
			return job, nil
		},
	}
	if s.edit != nil {
		s.edit(&req)
	}
	return req
}

// step is a reconcile with the stored owner as the caller's copy; the caller
// writes the status.
func (s *stage) step(t *testing.T) jobgc.Observation {
	t.Helper()
	ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	s.stored.job = ref
	s.stored.done = s.stored.done || found.Outcome != "" || found.State == jobgc.Missing || found.State == jobgc.Cancelled
	if s.stored.done && s.stored.recordedAt == nil {
		s.stored.recordedAt = &metav1.Time{Time: time.Now()}
	}
	return found
}

// deliver brings the cache up to date, and calls the Guard's handler.
func (s *stage) deliver() {
	before := s.store.items
	s.store.sync(s.server)
	for key, job := range s.store.items {
		if before[key] == nil {
			s.guard.OnAdd(job, false)
		} else {
			s.guard.OnUpdate(before[key], job)
		}
	}
	for key, job := range before {
		if s.store.items[key] == nil {
			s.guard.OnDelete(job)
		}
	}
}

func (s *stage) requests() []int { return []int{s.creates, s.gets, s.patches, s.reads} }

// If the TTL of the creation is already the final TTL, Step sends no patch.
func TestStepNeedsNoPatch(t *testing.T) {
	ten := jobgc.Retention{SucceededTTL: 10 * time.Minute, FailedTTL: 10 * time.Minute, UnrecordedTTL: 10 * time.Minute}
	for name, tc := range map[string]struct {
		reason  string
		keep    jobgc.Retention
		late    time.Duration
		patches int
	}{
		"Keep":     {"There is no TTL to set.", jobgc.Retention{}, time.Hour, 0},
		"Same":     {"The Job already has the final TTL.", ten, 30 * time.Second, 0},
		"Late":     {"The time that is left is shorter than the TTL.", ten, 2 * time.Minute, 1},
		"Shorter":  {"A shorter TTL needs a patch.", jobgc.Retention{SucceededTTL: time.Minute, UnrecordedTTL: week}, 0, 1},
		"Annulled": {"Removing the TTL needs a patch.", jobgc.Retention{UnrecordedTTL: week}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{Retention: tc.keep})
				s.step(t)
				s.change(jobOfRun, finish(time.Now()))
				s.store.sync(s.server)
				time.Sleep(tc.late)
				s.step(t)
				assert.Equal(t, tc.patches == 0, s.stored.job.Released, tc.reason)
				time.Sleep(time.Hour)
				s.step(t)
				s.store.sync(s.server)
				s.step(t)
				assert.Equal(t, tc.patches, s.patches, tc.reason)
			})
		})
	}
}

// A copy of the owner that is stale creates nothing.
func TestStepCreatesForTheStoredOwnerOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		stored func(*agentRun) *agentRun
		want   int
	}{
		"AsTheCopy": {"The normal case.", func(r *agentRun) *agentRun { return r }, 1},
		"Annotated": {"A change of an annotation does not concern the Job.", func(r *agentRun) *agentRun {
			r.Annotations, r.ResourceVersion = map[string]string{"a": "b"}, "9"
			return r
		}, 1},
		"Gone":        {"An owner that is gone gets no Job.", func(*agentRun) *agentRun { return nil }, 0},
		"Deleting":    {"An owner that is being deleted gets no Job.", func(r *agentRun) *agentRun { r.DeletionTimestamp = ptr.To(metav1.Now()); return r }, 0},
		"Recreated":   {"The stored owner is another run of the same name.", func(r *agentRun) *agentRun { r.UID = "another"; return r }, 0},
		"HasItsJob":   {"Another replica has recorded the Job.", func(r *agentRun) *agentRun { r.job = &jobgc.Ref{Name: jobOfRun, UID: "x"}; return r }, 0},
		"HasFinished": {"Another replica has recorded the end of the run.", func(r *agentRun) *agentRun { r.done = true; return r }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.stored = tc.stored(s.stored)
			ref, found, err := s.guard.Step(t.Context(), s.request(newAgentRun()))
			require.NoError(t, err)
			assert.Equal(t, []int{tc.want, 0, 0, 1}, s.requests(), tc.reason)
			assert.Equal(t, tc.want == 0, found.State == jobgc.Pending && ref == nil && found.After > 0, tc.reason)
		})
	}
}

// The answer of a creation was lost, or the status was not written: the Job is
// adopted, and a TTL that could delete it early is raised.
func TestStepAdopts(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Minute, UnrecordedTTL: week}})
	job := ownedJob()
	job.Name, job.Namespace, job.UID, job.Spec.TTLSecondsAfterFinished = jobOfRun, "ns", "there", ptr.To[int32](0)
	s.put(job)
	s.step(t)
	assert.Equal(t, types.UID("there"), s.stored.job.UID)
	assert.Equal(t, int32(604800), *s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished, "0 leaves no time to read the result")

	// The Job has finished in between: one write records both.
	s = newStage(t, jobgc.Options{})
	job.Spec.TTLSecondsAfterFinished = nil
	finish(time.Now())(job)
	s.put(job)
	s.step(t)
	assert.Equal(t, jobgc.Succeeded, s.stored.job.Outcome)

	// The Job is being deleted: a new Job would run the work twice.
	s = newStage(t, jobgc.Options{})
	job.Status.Conditions, job.DeletionTimestamp = nil, ptr.To(metav1.Now())
	s.put(job)
	assert.Equal(t, jobgc.Deleting, s.step(t).State)
	assert.Equal(t, types.UID("there"), s.stored.job.UID)

	// The Job of another controller.
	s = newStage(t, jobgc.Options{})
	job.DeletionTimestamp, job.OwnerReferences = nil, []metav1.OwnerReference{ownerRef("another", "x")}
	s.put(job)
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorContains(t, err, "the name ns/run-run-uid belongs to the Job of AgentRun another")
}

// What the builder takes does not count: it is called before the read.
func TestStepCreates_AfterASlowBuilder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.edit = func(req *jobgc.Request) {
			build := req.Job
			req.Job = func() (*batchv1.Job, error) { time.Sleep(time.Hour); return build() }
		}
		s.step(t)
		assert.Equal(t, 1, s.creates)
	})
}

// The TTL of the built Job is what the caller wants, after the record.
func TestStepKeepsTheTTLOfTheTemplate(t *testing.T) {
	for _, asked := range []int32{0, 1, 600, 2592000} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}})
			s.edit = func(req *jobgc.Request) {
				req.Job = func() (*batchv1.Job, error) {
					job := ownedJob()
					job.Name, job.Spec.TTLSecondsAfterFinished = jobOfRun, &asked
					return job, nil
				}
			}
			s.step(t)
			assert.Equal(t, max(asked, 604800), *s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished)
			s.change(jobOfRun, finish(time.Now()))
			s.store.sync(s.server)
			s.step(t)
			s.step(t)
			assert.Equal(t, asked, *s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished)
			assert.Equal(t, asked == 2592000, s.patches == 0)
		})
	}
}

// What others wrote on a Job survives a release from a cache that does not hold
// it, and the release is done once.
func TestStepReleasesFromACacheThatStripsMetadata(t *testing.T) {
	for name, notes := range map[string]map[string]string{"Annotations": {"other.example.com/a": "b"}, "None": nil} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Finalizer: hold, Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}})
			s.step(t)
			s.change(jobOfRun, func(job *batchv1.Job) {
				finish(time.Now())(job)
				job.Annotations, job.Finalizers = notes, append([]string{"other.example.com/keep"}, job.Finalizers...)
			})
			strip := func() {
				s.store.sync(s.server)
				job := s.jobs[jobOfRun].DeepCopy()
				job.Annotations, job.Finalizers = nil, nil
				s.store.items["ns/"+jobOfRun] = job
			}
			for range 4 {
				strip()
				s.step(t)
			}
			job := s.jobs[jobOfRun]
			assert.Equal(t, []string{"other.example.com/keep"}, job.Finalizers, "only the finalizer of this controller is removed")
			assert.Equal(t, notes["other.example.com/a"], job.Annotations["other.example.com/a"])
			assert.NotEmpty(t, job.Annotations["jobgc.controllerkit.dev/released"])
			assert.Equal(t, []int{1, 1, 1, 2}, s.requests(), "one read of the Job, one patch")
			assert.True(t, s.stored.job.Released, "the cache never shows it")
		})
	}
}
