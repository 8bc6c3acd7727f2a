// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

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

// TestStep_LogsWhatItCannotTakeOver, as with a role from before the migration,
// which lacks patch. The Job is recorded as it is: it must not run again.
func TestStep_LogsWhatItCannotTakeOver(t *testing.T) {
	for says, refusal := range map[string]error{
		"is forbidden: no patch":          apierrors.NewForbidden(jobResource, ownName, errors.New("no patch")),
		"the server rejected our request": invalid(ownName),
	} {
		t.Run(says, func(t *testing.T) {
			var lines []string
			log := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{})
			short := named(ownName)
			short.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
			s := adopts(t, jobgc.Options{Finalizer: hold, Retention: jobgc.Retention{UnrecordedTTL: week}}, short)
			s.withName(ownName)
			s.refuse = refusal
			for range 2 { // as if the first Ref was not written
				ref, found, err := s.guard.Step(logr.NewContext(t.Context(), log), s.request(s.stored))
				require.NoError(t, err)
				assert.Equal(t, jobgc.Active, found.State)
				assert.Equal(t, types.UID("uid-of-nightly-1"), ref.UID)
			}
			require.Len(t, lines, 1, "at most one a minute")
			assert.Contains(t, lines[0], "refuses a patch of a Job that is taken over")
			assert.Contains(t, lines[0], ownName)
			assert.Contains(t, lines[0], says)
		})
	}
}

// TestStep_TakesOverNoReleasedJob: the copy of the owner is late. A finalizer
// that Step gave to the Job now would stay.
func TestStep_TakesOverNoReleasedJob(t *testing.T) {
	released := named(ownName)
	finish(time.Now())(released)
	released.Annotations = map[string]string{"jobgc.controllerkit.dev/released": "2026-03-01T12:00:00Z"}
	s := adopts(t, jobgc.Options{Finalizer: hold}, released)
	s.withName(ownName)
	assert.Equal(t, jobgc.Finished, s.step(t).State)
	assert.Empty(t, s.jobs[ownName].Finalizers)
	assert.Zero(t, s.patches)
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
		}, s.store.get, s.store, jobgc.Options{})
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
		}, s.store.get, s.store, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
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
		}, s.store.get, s.store, jobgc.Options{})
		require.NoError(t, err)
		s.guard = g
		_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
		require.EqualError(t, err, "jobgc: step: the Job ns/nightly-1 was deleted in the meantime")
	})
}

// TestStep_Name_IsAJobsName or an error with the accepted form.
func TestStep_Name_IsAJobsName(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		value  string
		valid  bool
	}{
		"Plain":     {"The name of a person's choice.", "nightly-1", true},
		"Dots":      {"Jobs may have dots in their name.", "nightly.1", true},
		"Longest":   {"Pods carry the name as a label of 63 bytes.", strings.Repeat("a", 63), true},
		"TooLong":   {"A label has at most 63 bytes.", strings.Repeat("a", 64), false},
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
