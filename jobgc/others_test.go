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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// ownName is the name that a controller gave to its Job before it used this
// package.
const ownName = "nightly-1"

// named is an unfinished Job of the run that has its own name.
func named(name string) *batchv1.Job {
	job := ownedJob()
	job.Namespace, job.Name, job.UID = "ns", name, types.UID("uid-of-"+name)
	return job
}

// adopts is a stage with Jobs of an earlier version of the controller, which
// the API server, the store and the Guard's handler have.
func adopts(t *testing.T, opts jobgc.Options, jobs ...*batchv1.Job) *stage {
	t.Helper()
	s := newStage(t, opts)
	for _, job := range jobs {
		s.put(job)
		s.guard.OnAdd(job, true)
	}
	s.store.sync(s.server)
	return s
}

// withName sets Request.Name of all requests.
func (s *stage) withName(name string) {
	s.edit = func(req *jobgc.Request) { req.Name = name }
}

// TestStep_DoesNotCreateASecondJobOnAdoptionDay: a controller whose Jobs have
// their own names begins to use this package while runs are in flight.
//
//req:shows J3
func TestStep_DoesNotCreateASecondJobOnAdoptionDay(t *testing.T) {
	finished := named(ownName)
	finish(time.Now())(finished)
	foreign := named(ownName)
	foreign.OwnerReferences = []metav1.OwnerReference{ownerRef("another", "another-uid")}
	free := named(ownName)
	free.OwnerReferences = nil
	created := named(ownName)
	created.Annotations = map[string]string{"jobgc.controllerkit.dev/retention": "all"}
	deleting := named(ownName)
	deleting.DeletionTimestamp = ptr.To(metav1.Now())
	const one = `jobgc: step: Request.Name is empty, and Request.Owner run controls the Job ns/nightly-1 that Step has not created: ` +
		`set Request.Name to the name of the Job to take it over, or to another name to leave it alone`
	for name, tc := range map[string]struct {
		reason string
		jobs   []*batchv1.Job
		err    string // part of the error; empty: the Job is created
	}{
		"InFlight": {"The Job may do the work of the run.", []*batchv1.Job{named(ownName)}, one},
		"Two": {
			"The caller decides which one to take over.",
			[]*batchv1.Job{named("b"), named("a")},
			"controls 2 Jobs (ns/a, ns/b) that Step has not created",
		},
		"Five": {
			"A long list is cut.",
			[]*batchv1.Job{named("a"), named("b"), named("c"), named("d"), named("e")},
			"controls 5 Jobs (ns/a, ns/b, ns/c and 2 more) that",
		},
		"BeingDeleted":   {"Its pods may still run.", []*batchv1.Job{deleting}, "controls the Job ns/nightly-1"},
		"Finished":       {"A Job that had finished before is of an earlier run.", []*batchv1.Job{finished}, ""},
		"OfAnotherOwner": {"The Job of another owner does not count.", []*batchv1.Job{foreign}, ""},
		"OfNobody":       {"Nor does a Job without a controller.", []*batchv1.Job{free}, ""},
		"OfStep":         {"Step created it, for an owner with a Name.", []*batchv1.Job{created}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := adopts(t, jobgc.Options{}, tc.jobs...)
			ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
			if tc.err == "" {
				require.NoError(t, err, tc.reason)
				assert.Equal(t, 1, s.creates, tc.reason)
				return
			}
			require.ErrorContains(t, err, tc.err, tc.reason)
			assert.Zero(t, s.creates, tc.reason)
			assert.Nil(t, ref)
			assert.Empty(t, found.State)
		})
	}
}

// TestStep_RefusesASecondJobUntilTheFirstIsDeletedUnfinished: a refusal that
// ended with the Job would only delay the second start.
func TestStep_RefusesASecondJobUntilTheFirstIsDeletedUnfinished(t *testing.T) {
	refused := func(t *testing.T) (*stage, *batchv1.Job) {
		t.Helper()
		s := adopts(t, jobgc.Options{}, named(ownName))
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.Error(t, err)
		return s, s.jobs[ownName]
	}
	ends := func(s *stage, job *batchv1.Job) *batchv1.Job {
		last := s.change(ownName, finish(time.Now()))
		s.guard.OnUpdate(job, last)
		s.store.sync(s.server)
		return last
	}
	for name, tc := range map[string]struct {
		reason string
		goes   func(s *stage, job *batchv1.Job)
		create bool
	}{
		"Finished": {"Its work is done.", func(s *stage, job *batchv1.Job) { ends(s, job) }, false},
		"FinishedAndGone": {"Its work was done.", func(s *stage, job *batchv1.Job) {
			s.guard.OnDelete(ends(s, job))
			s.remove(ownName)
			s.store.sync(s.server)
		}, false},
		"Deleted": {"A person decided against that Job.", func(s *stage, job *batchv1.Job) {
			s.remove(ownName)
			s.store.sync(s.server)
			s.guard.OnDelete(cache.DeletedFinalStateUnknown{Obj: job})
		}, true},
		"GivenToAnother": {"It is another owner's now.", func(s *stage, job *batchv1.Job) {
			next := s.change(ownName, func(j *batchv1.Job) { j.OwnerReferences = []metav1.OwnerReference{ownerRef("other", "other")} })
			s.guard.OnUpdate(job, next)
			s.store.sync(s.server)
		}, true},
		"Recreated": {"The new one of that name is another owner's.", func(s *stage, job *batchv1.Job) {
			next := named(ownName)
			next.UID, next.OwnerReferences = "next", []metav1.OwnerReference{ownerRef("other", "other")}
			s.guard.OnUpdate(job, s.put(next))
			s.store.sync(s.server)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, job := refused(t)
			tc.goes(s, job)
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			assert.Equal(t, tc.create, err == nil, "%s: %v", tc.reason, err)
			assert.Equal(t, tc.create, s.creates == 1, tc.reason)
		})
	}
}

// TestStep_WaitsForTheFirstList: the Job of the run may be among those that are
// still to come.
func TestStep_WaitsForTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.store.unsynced = true
		found := s.step(t)
		assert.Equal(t, jobgc.Pending, found.State)
		assert.Positive(t, found.After)
		assert.Equal(t, []int{0, 0, 0, 0}, s.requests())
		time.Sleep(2 * time.Minute)
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.EqualError(t, err, "jobgc: step: the informer of Jobs has not synced for 1m0s: start it, and let the controller list and watch Jobs")
		s.guard.OnAdd(named(ownName), true)
		s.store.unsynced = false
		_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "ns/nightly-1")
		assert.Zero(t, s.creates)
	})
}
