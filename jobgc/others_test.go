// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"strings"
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

// TestStep_TakesOverAJobByItsName on adoption day, and creates none.
func TestStep_TakesOverAJobByItsName(t *testing.T) {
	const finalizer = "agents.example.com/result"
	opts := jobgc.Options{Finalizer: finalizer, Retention: jobgc.Retention{UnrecordedTTL: week, SucceededTTL: time.Hour}}
	noted := named(ownName)
	noted.Annotations, noted.Finalizers = map[string]string{"a": "b"}, []string{"other.example.com/keeper"}
	finished := named(ownName)
	finish(time.Now())(finished)
	finished.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
	for name, tc := range map[string]struct {
		reason string
		jobs   []*batchv1.Job
		state  jobgc.State
		gets   int
		asked  string
	}{
		"InFlight":  {"It goes on.", []*batchv1.Job{named(ownName)}, jobgc.Active, 1, ""},
		"Finished":  {"Its result is the run's, and its TTL counts from the record.", []*batchv1.Job{finished}, jobgc.Finished, 1, "60"},
		"Annotated": {"The marks of others stay.", []*batchv1.Job{noted}, jobgc.Active, 1, ""},
		"Two":       {"The other one is the caller's business.", []*batchv1.Job{named(ownName), named("nightly-2")}, jobgc.Active, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := adopts(t, opts, tc.jobs...)
			s.withName(ownName)
			before := s.jobs[ownName].DeepCopy()
			found := s.step(t)
			assert.Equal(t, tc.state, found.State, tc.reason)
			assert.Equal(t, types.UID("uid-of-nightly-1"), s.stored.job.UID)
			assert.Equal(t, ownName, s.stored.job.Name)
			assert.Equal(t, []int{0, tc.gets, 1, 0}, s.requests(), "one read and one patch")
			job := s.jobs[ownName]
			assert.Equal(t, int32(604800), *job.Spec.TTLSecondsAfterFinished)
			assert.Contains(t, job.Annotations, "jobgc.controllerkit.dev/retention")
			assert.Equal(t, tc.asked, job.Annotations["jobgc.controllerkit.dev/ttl-seconds-after-finished"])
			assert.Equal(t, append(before.Finalizers, finalizer), job.Finalizers)
			assert.Subset(t, job.Annotations, before.Annotations)

			s.store.sync(s.server)
			s.edit = nil // the Ref has the name now
			if tc.state == jobgc.Active {
				s.change(ownName, finish(time.Now()))
				s.store.sync(s.server)
				assert.Equal(t, jobgc.Finished, s.step(t).State)
			}
			s.step(t)
			assert.Len(t, s.jobs[ownName].Finalizers, len(before.Finalizers), "it is released as any other")
			assert.Zero(t, s.creates)
		})
	}
}

// TestStep_CreatesAJobOfAName for an owner that has none, and finds it again.
func TestStep_CreatesAJobOfAName(t *testing.T) {
	opts := jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}}
	s := newStage(t, opts)
	s.withName(ownName)
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	require.Contains(t, s.jobs, ownName)
	s.store.sync(s.server)
	s.guard = newGuard(t, s.world, opts) // the process was killed before it wrote the Ref
	assert.Equal(t, jobgc.Active, s.step(t).State)
	assert.Equal(t, []int{1, 0, 0, 1}, s.requests(), "a Name costs no request")
}

// TestStep_KeepsTheResultOfANamedJobThatIsGone before it was taken over.
func TestStep_KeepsTheResultOfANamedJobThatIsGone(t *testing.T) {
	s := adopts(t, jobgc.Options{}, named(ownName))
	before := s.jobs[ownName]
	last := s.change(ownName, finish(time.Now()))
	s.guard.OnUpdate(before, last)
	s.remove(ownName)
	s.store.sync(s.server)
	s.guard.OnDelete(last)
	s.withName(ownName)
	assert.Equal(t, jobgc.Succeeded, s.step(t).Outcome)
	assert.Zero(t, s.creates)
}

// TestStep_RefusesANameThatIsTaken: the error says by whom.
func TestStep_RefusesANameThatIsTaken(t *testing.T) {
	foreign := named(ownName)
	foreign.OwnerReferences = []metav1.OwnerReference{ownerRef("another", "another-uid")}
	earlier := named(ownName)
	earlier.OwnerReferences = []metav1.OwnerReference{ownerRef("run", "earlier-uid")}
	free := named(ownName)
	free.OwnerReferences = nil
	for name, tc := range map[string]struct {
		reason string
		job    *batchv1.Job
		err    string
	}{
		"OfAnother":   {"Its owner is named.", foreign, "the name ns/nightly-1 belongs to the Job of AgentRun another"},
		"OfNobody":    {"A person may have created it.", free, "the name ns/nightly-1 belongs to a Job that has no controller"},
		"OfAnEarlier": {"The garbage collector deletes it.", earlier, "an earlier Job of the name ns/nightly-1 is still being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := adopts(t, jobgc.Options{}, tc.job)
			s.withName(ownName)
			before := s.jobs[ownName].DeepCopy()
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			require.EqualError(t, err, "jobgc: step: Request.Name: "+tc.err+"; want the name of a Job of Request.Owner, or a free one", tc.reason)
			assert.Equal(t, before, s.jobs[ownName])
		})
	}
}

// TestStep_TakeOver_SurvivesRefusals: a Job that is not recorded for that would
// be created again.
func TestStep_TakeOver_SurvivesRefusals(t *testing.T) {
	t.Run("Policy", func(t *testing.T) {
		s := adopts(t, jobgc.Options{}, named(ownName))
		s.withName(ownName)
		s.refuse = invalid(ownName)
		assert.Equal(t, jobgc.Active, s.step(t).State)
		assert.Equal(t, types.UID("uid-of-nightly-1"), s.stored.job.UID)
		assert.Zero(t, s.creates)
	})
	t.Run("Outage", func(t *testing.T) {
		s := adopts(t, jobgc.Options{}, named(ownName))
		s.withName(ownName)
		s.refuse = errUnexpected
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorIs(t, err, errUnexpected)
	})
	t.Run("ChangedMeanwhile", func(t *testing.T) {
		s := adopts(t, jobgc.Options{}, named(ownName))
		s.withName(ownName)
		changes := 0
		g, err := jobgc.New(func(string) fakeJobs {
			client := s.client("ns")
			patch := client.patch
			client.patch = func(name string, data []byte) (*batchv1.Job, error) {
				if changes == 0 {
					changes++
					s.change(ownName, func(job *batchv1.Job) { job.Status.Active = 1 })
				}
				return patch(name, data)
			}
			return client
		}, s.store, jobgc.Options{})
		require.NoError(t, err)
		s.guard = g
		s.step(t)
		assert.Contains(t, s.jobs[ownName].Annotations, "jobgc.controllerkit.dev/retention")
		assert.Equal(t, 2, s.patches)
	})
	t.Run("TakenOverMeanwhile", func(t *testing.T) {
		s := adopts(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}}, named(ownName))
		s.withName(ownName)
		g, err := jobgc.New(func(string) fakeJobs {
			client := s.client("ns")
			client.patch = func(string, []byte) (*batchv1.Job, error) {
				s.change(ownName, func(job *batchv1.Job) {
					job.Annotations = map[string]string{"jobgc.controllerkit.dev/retention": "all"}
					job.Spec.TTLSecondsAfterFinished = ptr.To[int32](604800)
				})
				return nil, invalid(ownName)
			}
			return client
		}, s.store, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
		require.NoError(t, err)
		s.guard = g
		s.step(t)
		assert.NotContains(t, s.jobs[ownName].Annotations, "jobgc.controllerkit.dev/ttl-seconds-after-finished",
			"the TTL of the other replica is not the Job's own")
	})
	t.Run("Gone", func(t *testing.T) {
		s := adopts(t, jobgc.Options{}, named(ownName))
		s.withName(ownName)
		g, err := jobgc.New(func(string) fakeJobs {
			client := s.client("ns")
			client.patch = func(name string, _ []byte) (*batchv1.Job, error) { return nil, notFound(name) }
			return client
		}, s.store, jobgc.Options{})
		require.NoError(t, err)
		s.guard = g
		_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
		require.EqualError(t, err, "jobgc: step: the Job ns/nightly-1 was deleted in the meantime")
	})
}

// TestStep_Name_IsAJobsName or an error says what is accepted.
func TestStep_Name_IsAJobsName(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		value  string
		valid  bool
	}{
		"Plain":     {"The name of a person's choice.", "nightly-1", true},
		"Dots":      {"Jobs may have dots in their name.", "nightly.1", true},
		"Longest":   {"Pods carry the name as a label of 63 bytes.", strings.Repeat("a", 63), true},
		"TooLong":   {"A label has no more.", strings.Repeat("a", 64), false},
		"UpperCase": {"Names are lower-case.", "Nightly", false},
		"Slash":     {"A namespace is not part of it.", "ns/nightly", false},
		"Dash":      {"It ends with a letter or a digit.", "nightly-", false},
		"Space":     {"Blank is not empty.", " ", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.withName(tc.value)
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			if tc.valid {
				require.NoError(t, err, tc.reason)
				assert.Contains(t, s.jobs, tc.value)
				return
			}
			require.EqualError(t, err, fmt.Sprintf("jobgc: step: Request.Name is %q; want at most 63 lower-case letters, digits, '-' and '.', "+
				"with a letter or a digit at each end and at each dot, such as nightly-1", tc.value), tc.reason)
			assert.Equal(t, []int{0, 0, 0, 0}, s.requests())
		})
	}
}

// TestStep_ARefKeepsItsName: the Job that is recorded is the owner's.
func TestStep_ARefKeepsItsName(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.store.sync(s.server)
	s.withName(ownName)
	before := s.requests()
	assert.Equal(t, jobgc.Active, s.step(t).State)
	assert.Equal(t, jobOfRun, s.stored.job.Name)
	assert.Equal(t, before, s.requests())
}

// TestStep_CreatesNothingBeforeTheHandlerHasAllJobs: the Job of the run may be
// among those that are still to come.
func TestStep_CreatesNothingBeforeTheHandlerHasAllJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		informer := &informerOfSeveral{}
		g, err := jobgc.New(s.client, informer, jobgc.Options{})
		require.NoError(t, err)
		s.guard = g
		found := s.step(t)
		assert.Equal(t, jobgc.Pending, found.State)
		assert.Positive(t, found.After)
		assert.Equal(t, []int{0, 0, 0, 0}, s.requests())
		time.Sleep(2 * time.Minute)
		_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
		require.EqualError(t, err, "jobgc: step: the informer of Jobs has not synced: let the controller list and watch Jobs")
		informer.handlers[0].OnAdd(named(ownName), true)
		informer.synced = true
		_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "ns/nightly-1")
		assert.Zero(t, s.creates)
	})
}

// informerWithAStore is an informer of one store.
type informerWithAStore struct {
	informerOfSeveral

	store  *fakeStore
	listed bool // the store has the first list
}

func (i *informerWithAStore) GetStore() *fakeStore { return i.store }

func (i *informerWithAStore) AddEventHandler(eventHandler) (any, error) {
	return &i.informerOfSeveral, nil
}

func (i *informerWithAStore) HasSynced() bool { return i.listed }

// TestStep_WaitsForTheHandlerOfAnInformerThatHasListed: the store is ahead of
// the handler.
func TestStep_WaitsForTheHandlerOfAnInformerThatHasListed(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		listed, synced bool
		creates        int
	}{
		"Listed":     {"Its handler may not have seen the Job of this run.", true, false, 0},
		"Synced":     {"Its handler has seen all.", true, true, 1},
		"NotStarted": {"A unit test need not start its informer.", false, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			informer := &informerWithAStore{store: s.store, listed: tc.listed}
			informer.synced = tc.synced
			g, err := jobgc.New(s.client, informer, jobgc.Options{})
			require.NoError(t, err)
			s.guard = g
			found := s.step(t)
			assert.Equal(t, tc.creates, s.creates, tc.reason)
			assert.Equal(t, tc.creates == 0, found.State == jobgc.Pending, tc.reason)
		})
	}
}
