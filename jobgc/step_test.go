// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"fmt"
	"sync"
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

const holder = "agents.example.com/result"

// slowJobs is a client whose creations take time, as behind a rate limiter or
// an admission webhook. It honours the context, as client-go does.
type slowJobs struct {
	fakeJobs
	wait func(ctx context.Context) error
}

func (s slowJobs) Create(ctx context.Context, job *batchv1.Job, o metav1.CreateOptions) (*batchv1.Job, error) {
	err := s.wait(ctx)
	if err != nil {
		return nil, err
	}
	return s.fakeJobs.Create(ctx, job, o)
}

// pause waits as long as ctx allows.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestStepCreates_WithinAMinuteOfTheRead: a final TTL of 90 seconds rests on
// it.
func TestStepCreates_WithinAMinuteOfTheRead(t *testing.T) {
	slowly := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error { return pause(ctx, d) }
	}
	deaf := func(context.Context) error { time.Sleep(61 * time.Second); return nil }
	for name, tc := range map[string]struct {
		reason       string
		read, create func(context.Context) error
		want         string // words of the error; empty: created
	}{
		"Webhook":  {"A slow admission does not stop a creation.", slowly(0), slowly(12 * time.Second), ""},
		"Both":     {"They share 60 seconds.", slowly(29 * time.Second), slowly(30 * time.Second), ""},
		"TooLong":  {"They share 60 seconds.", slowly(31 * time.Second), slowly(30 * time.Second), "create ns/run-run-uid within 1m0s: context deadline exceeded"},
		"SlowRead": {"An old answer is not believed.", slowly(61 * time.Second), slowly(0), "Request.Stored: context deadline exceeded"},
		"DeafRead": {"Stored may ignore its context.", deaf, slowly(0), "create ns/run-run-uid: owner was read more than 1m0s ago: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				g, err := jobgc.New(func(string) slowJobs { return slowJobs{s.client("ns"), tc.create} }, s.store, jobgc.Options{})
				require.NoError(t, err)
				req := s.request(s.stored)
				req.Stored = func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
					return s.stored, nil, false, tc.read(ctx)
				}
				_, _, err = g.Step(t.Context(), req)
				if tc.want == "" {
					require.NoError(t, err, tc.reason)
					return
				}
				require.ErrorContains(t, err, tc.want, tc.reason)
				assert.Empty(t, s.jobs, tc.reason)
			})
		})
	}
}

// TestStep_TakesAJobOver with one patch, which keeps what others have.
func TestStep_TakesAJobOver(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		edit   func(*batchv1.Job)
		want   func(*batchv1.Job)
	}{
		"Plain": {"It gets the finalizer.", func(*batchv1.Job) {}, func(j *batchv1.Job) { j.Finalizers = []string{holder} }},
		"TTL": {"Its TTL counts from the record.", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = ptr.To[int32](60) }, func(j *batchv1.Job) {
			j.Finalizers = []string{holder}
			j.Annotations = map[string]string{"jobgc.controllerkit.dev/ttl-seconds-after-finished": "60"}
		}},
		"OfOthers": {"It keeps the marks of others.", func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](0)
			j.Finalizers = []string{"a.example.com/a"}
			j.Annotations = map[string]string{"a": "b"}
		}, func(j *batchv1.Job) {
			j.Finalizers = []string{"a.example.com/a", holder}
			j.Annotations = map[string]string{"a": "b", "jobgc.controllerkit.dev/ttl-seconds-after-finished": "0"}
		}},
		"Asked": {"It keeps what the built Job asked for.", func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](5)
			j.Annotations = map[string]string{"jobgc.controllerkit.dev/ttl-seconds-after-finished": "600"}
		}, func(j *batchv1.Job) {
			j.Finalizers = []string{holder}
			j.Annotations = map[string]string{"jobgc.controllerkit.dev/ttl-seconds-after-finished": "600"}
		}},
		"Deleting": {"Nothing helps it.", func(j *batchv1.Job) {
			j.DeletionTimestamp = ptr.To(metav1.Now())
			j.Finalizers = []string{"a.example.com/a"}
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		}, func(j *batchv1.Job) {
			j.Finalizers = []string{"a.example.com/a"}
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		}},
		"Finished": {"It stays as it is.", func(j *batchv1.Job) {
			finish(time.Unix(1, 0))(j)
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		}, func(j *batchv1.Job) {
			finish(time.Unix(1, 0))(j)
			j.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Finalizer: holder})
			job := ownedJob()
			job.Name = "nightly"
			job.UID = "old"
			want := job.DeepCopy()
			tc.edit(job)
			tc.want(want)
			s.put(job)
			s.store.sync(s.server)
			s.edit = func(req *jobgc.Request) { req.Name = "nightly" }
			s.step(t)
			assert.Equal(t, types.UID("old"), s.stored.job.UID)
			got := s.jobs["nightly"].DeepCopy()
			assert.Equal(t, want.Annotations, got.Annotations, tc.reason)
			assert.Equal(t, want.Finalizers, got.Finalizers, tc.reason)
			assert.Equal(t, want.Spec, got.Spec, tc.reason)
			assert.LessOrEqual(t, s.patches, 1)
			assert.Zero(t, s.creates)
		})
	}
}

// TestStep_TakesOverAJobThatVanishes: the next call decides.
func TestStep_TakesOverAJobThatVanishes(t *testing.T) {
	s := newStage(t, jobgc.Options{Finalizer: holder})
	job := ownedJob()
	job.Name = jobOfRun
	job.UID = "old"
	s.put(job)
	s.store.sync(s.server)
	s.remove(jobOfRun)
	found := s.step(t)
	assert.Equal(t, jobgc.Pending, found.State)
	assert.Nil(t, s.stored.job)
	assert.Zero(t, s.creates)
}

// TestStep_KeepsTheCreationTimeOfAPostponedRef: a caller may wait for two
// seconds before it writes the first Ref.
func TestStep_KeepsTheCreationTimeOfAPostponedRef(t *testing.T) {
	for name, isCached := range map[string]bool{"Cached": true, "Live": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				if !isCached {
					g, err := jobgc.New(s.client, nil, jobgc.Options{})
					require.NoError(t, err)
					s.guard = g
				}
				var first *metav1.Time
				for range 3 {
					ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
					require.NoError(t, err)
					assert.Equal(t, jobgc.Active, found.State)
					if first == nil {
						first = ref.CreatedAt
					}
					assert.Equal(t, first, ref.CreatedAt)
					time.Sleep(time.Second)
					s.store.sync(s.server)
				}
			})
		})
	}
}

// TestStep_LooksAgainAtASuspendedJobWithoutACache: no event comes.
func TestStep_LooksAgainAtASuspendedJobWithoutACache(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	g, err := jobgc.New(s.client, nil, jobgc.Options{})
	require.NoError(t, err)
	s.guard = g
	s.step(t)
	s.edit = func(req *jobgc.Request) { req.Suspend = ptr.To(true) }
	found := s.step(t)
	assert.Equal(t, jobgc.Suspended, found.State)
	assert.Equal(t, 10*time.Second, found.After)
}

// TestStep_ClusterScopedOwner needs the namespace of its Job.
func TestStep_ClusterScopedOwner(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.Namespace = ""
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.EqualError(t, err, "jobgc: step: Request.Namespace is empty, and Request.Owner has no namespace; set the namespace of the Job")
	s.edit = func(req *jobgc.Request) { req.Namespace = "ns" }
	s.step(t)
	assert.Equal(t, "ns", s.stored.job.Namespace)
	s.store.sync(s.server)
	s.change(jobOfRun, finish(time.Now()))
	s.store.sync(s.server)
	s.edit = nil
	assert.Equal(t, jobgc.Finished, s.step(t).State, "the Ref has the namespace now")
	s.stored = newAgentRun()
	s.edit = func(req *jobgc.Request) { req.Namespace = "other" }
	_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorContains(t, err, `Request.Namespace is "other", want the namespace of Request.Owner, "ns", or none`)
}

// TestStep_AfterARestartEndedRunsCostNothing: 1,000 runs have ended, half of
// their Jobs are gone.
func TestStep_AfterARestartEndedRunsCostNothing(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour}})
	for i := range 1000 {
		run := newAgentRun()
		run.UID = types.UID(fmt.Sprint(i))
		run.job = &jobgc.Ref{Namespace: "ns", Name: fmt.Sprint("run-", i), UID: run.UID + "-job", Outcome: jobgc.Succeeded}
		run.done = true
		if i%2 == 0 {
			job := ownedJob()
			job.Name = run.job.Name
			job.UID = run.job.UID
			job.OwnerReferences[0].UID = run.UID
			job.Spec.TTLSecondsAfterFinished = ptr.To[int32](3600)
			finish(time.Now())(job)
			s.put(job)
			s.store.sync(s.server)
		}
		ref, found, err := s.guard.Step(t.Context(), s.request(run))
		require.NoError(t, err)
		assert.Equal(t, run.job, ref, "nothing is written")
		assert.Zero(t, found.After)
	}
	assert.Equal(t, make([]int, 5), s.requests())
}

// TestStep_AsksForNothingAfterTheEnd, with and without a cache.
func TestStep_AsksForNothingAfterTheEnd(t *testing.T) {
	ref := func(outcome jobgc.Outcome) *jobgc.Ref {
		return &jobgc.Ref{Namespace: "ns", Name: jobOfRun, UID: "1", Outcome: outcome}
	}
	for _, isCached := range []bool{true, false} {
		for want, run := range map[jobgc.State]*agentRun{
			jobgc.Collected:  {job: ref(jobgc.Failed), done: true},
			jobgc.Missing:    {job: ref("")},
			jobgc.NotCreated: {done: true},
		} {
			s := newStage(t, jobgc.Options{})
			if !isCached {
				g, err := jobgc.New(s.client, nil, jobgc.Options{})
				require.NoError(t, err)
				s.guard = g
			}
			run.ObjectMeta = s.stored.ObjectMeta
			s.stored = run
			_, found, err := s.guard.Step(t.Context(), s.request(run))
			require.NoError(t, err)
			assert.Equal(t, want, found.State)
			assert.Zero(t, found.After)
		}
	}
}

// TestGuard_RemembersALimitedNumber for ten seconds.
func TestGuard_RemembersALimitedNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		for i := range 5000 {
			run := newAgentRun()
			run.UID = types.UID(fmt.Sprint(i))
			s.stored = run
			s.edit = func(req *jobgc.Request) {
				req.Job = func() (*batchv1.Job, error) {
					job := ownedJob()
					job.Name = ""
					job.OwnerReferences[0].UID = run.UID
					return job, nil
				}
			}
			s.step(t)
		}
		assert.Positive(t, s.guard.Remembered())
		assert.LessOrEqual(t, s.guard.Remembered(), 4096)
		time.Sleep(11 * time.Second)
		s.stored = newAgentRun()
		s.edit = nil
		s.step(t)
		assert.Equal(t, 1, s.guard.Remembered())
	})
}

// TestGuard_IsSafeForConcurrentUse of different owners.
func TestGuard_IsSafeForConcurrentUse(t *testing.T) {
	var mu sync.Mutex
	s := newServer()
	g, err := jobgc.New(func(string) fakeJobs {
		locked := s.client("ns")
		create := locked.create
		locked.create = func(job *batchv1.Job) (*batchv1.Job, error) {
			mu.Lock()
			defer mu.Unlock()
			return create(job)
		}
		return locked
	}, &fakeStore{}, jobgc.Options{})
	require.NoError(t, err)
	var running sync.WaitGroup
	for i := range 50 {
		running.Go(func() {
			run := newAgentRun()
			run.UID = types.UID(fmt.Sprint(i))
			for range 3 {
				ref, _, err := g.Step(t.Context(), jobgc.Request{
					Owner: run, Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return run, nil, false, nil },
					Job: func() (*batchv1.Job, error) {
						job := ownedJob()
						job.Name = ""
						job.OwnerReferences[0].UID = run.UID
						return job, nil
					},
				})
				if assert.NoError(t, err) {
					assert.NotEmpty(t, ref.UID)
				}
			}
		})
	}
	running.Wait()
	assert.Len(t, s.jobs, 50)
	assert.Equal(t, 50, s.creates)
}

// TestStep_NameTaken says whose Job has the name.
func TestStep_NameTaken(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	job := ownedJob()
	job.Name = jobOfRun
	job.UID = "x"
	job.OwnerReferences = []metav1.OwnerReference{ownerRef("another", "y")}
	s.put(job)
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	taken := new(jobgc.NameTakenError)
	require.ErrorAs(t, err, &taken)
	assert.Equal(t, "another", taken.Controller.Name)
	assert.False(t, taken.Deleting)
	require.EqualError(t, err, "jobgc: step: the name ns/run-run-uid belongs to the Job of AgentRun another")
	s.edit = func(req *jobgc.Request) { req.Name = jobOfRun }
	_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorContains(t, err, "Request.Name: the name ns/run-run-uid belongs to the Job of AgentRun another; want")
	for name, tc := range map[string]struct {
		edit       func(*metav1.OwnerReference)
		isDeleting bool
	}{
		"Earlier":    {func(*metav1.OwnerReference) {}, true},
		"OtherKind":  {func(o *metav1.OwnerReference) { o.Kind = "CronJob" }, false},
		"OtherGroup": {func(o *metav1.OwnerReference) { o.APIVersion = "batch/v1" }, false},
	} {
		job.OwnerReferences = []metav1.OwnerReference{ownerRef("run", "y")}
		tc.edit(&job.OwnerReferences[0])
		_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorAs(t, err, &taken)
		assert.Equal(t, tc.isDeleting, taken.Deleting, name)
	}
}

// TestStep_CopiesTheJobThatIsBuilt, and takes off what an earlier Job asked for.
func TestStep_CopiesTheJobThatIsBuilt(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	built := ownedJob()
	built.Name = ""
	built.Annotations = map[string]string{"jobgc.controllerkit.dev/ttl-seconds-after-finished": "5"}
	before := built.DeepCopy()
	s.edit = func(req *jobgc.Request) { req.Job = func() (*batchv1.Job, error) { return built, nil } }
	s.step(t)
	assert.Equal(t, before, built)
	assert.Empty(t, s.jobs[jobOfRun].Annotations)
}
