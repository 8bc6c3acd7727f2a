// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// strange takes no handler of client-go.
type strange struct{}

func (strange) AddEventHandler(int) (*fakeStore, error) { return nil, nil } //nolint:nilnil // never called

// stopped takes no handler.
type stopped struct{}

func (stopped) AddEventHandler(cache.ResourceEventHandler) (*fakeStore, error) {
	return nil, errors.New("it has stopped")
}

func TestNew_ReportsAllBadInput(t *testing.T) {
	_, err := jobgc.New[fakeJobs](nil, nil, strange{}, jobgc.Options{
		Finalizer: "result", Retention: jobgc.Retention{SucceededTTL: -time.Second},
	})
	require.EqualError(t, err, `jobgc: new: Options.Retention.SucceededTTL: -1s is not accepted; want 0 to keep, or a positive duration up to 68 years (596523h14m7s)
jobgc: new: Options.Finalizer: "result" is not accepted; want a domain and a name, such as agents.example.com/result
jobgc: new: client is nil; want a function that returns the Job client of a namespace
jobgc: new: cached is nil; want a function that reads a Job from the informer's cache, or use NewUncached
jobgc: new: informer: jobgc_test.strange takes no cache.ResourceEventHandler; want an informer of client-go or controller-runtime`)
	var none cache.SharedIndexInformer
	_, err = jobgc.New(newServer().client, (&fakeStore{}).get, none, jobgc.Options{})
	require.EqualError(t, err, "jobgc: new: informer is nil; want an informer of Jobs, or use NewUncached")
	_, err = jobgc.New(newServer().client, (&fakeStore{}).get, stopped{}, jobgc.Options{})
	require.EqualError(t, err, "jobgc: new: add an event handler to the informer: it has stopped")
	_, err = jobgc.NewUncached[fakeJobs](nil, jobgc.Options{})
	require.EqualError(t, err, "jobgc: new: client is nil; want a function that returns the Job client of a namespace")
}

func TestGuard_NotMadeByNewIsAnError(t *testing.T) {
	var none *jobgc.Guard
	for _, g := range []*jobgc.Guard{none, {}} {
		_, _, err := g.Step(t.Context(), jobgc.Request{})
		require.EqualError(t, err, "jobgc: the Guard is nil or empty; make it with New or NewUncached")
	}
}

// TestHandler_TakesAnything that an informer may pass, and what it never
// should.
func TestHandler_TakesAnything(t *testing.T) {
	w := newWorld(t, jobgc.Options{})
	done := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	finish(time.Now())(done)
	for _, obj := range []any{
		nil, "job", 7, &corev1.Pod{}, (*batchv1.Job)(nil), &batchv1.Job{}, done, func() {},
		struct{ Obj string }{"job"},
		cache.DeletedFinalStateUnknown{},
		(*cache.DeletedFinalStateUnknown)(nil),
		cache.DeletedFinalStateUnknown{Obj: &corev1.Pod{}},
		cache.DeletedFinalStateUnknown{Obj: (*batchv1.Job)(nil)},
	} {
		w.guard.OnAdd(obj, true)
		w.guard.OnUpdate(obj, obj)
		w.guard.OnDelete(obj)
	}
	f := w.look(t, jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine"})
	assert.Equal(t, jobgc.Pending, f.State, "none of them is the Job")
}

// TestHandler_FindsTheLastStateOfAMissedDelete: the informer hands over the
// last state that it knew, which may be old.
func TestHandler_FindsTheLastStateOfAMissedDelete(t *testing.T) {
	for name, wrap := range map[string]func(*batchv1.Job) any{
		"Value":   func(j *batchv1.Job) any { return cache.DeletedFinalStateUnknown{Key: "ns/job", Obj: j} },
		"Pointer": func(j *batchv1.Job) any { return &cache.DeletedFinalStateUnknown{Key: "ns/job", Obj: j} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, jobgc.Options{})
			ref := w.ensured(t)
			w.change("job", finish(time.Now()))
			w.guard.OnDelete(wrap(w.remove("job")))
			w.store.sync(w.server)
			f := w.look(t, ref)
			assert.Equal(t, jobgc.Finished, f.State)
			assert.Equal(t, jobgc.Succeeded, f.Outcome)
			assert.Equal(t, "Tombstone", f.Source)
		})
	}
}

// TestHandler_RemembersNoJobsOfOthers: a cluster may delete thousands of Jobs
// of CronJobs while one of ours waits.
func TestHandler_RemembersNoJobsOfOthers(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.stored.job = nil // the write failed
	last := s.change(jobOfRun, finish(time.Now()))
	s.guard.OnDelete(last)
	s.remove(jobOfRun)
	for i := range 5000 {
		job := named("nightly")
		job.OwnerReferences = []metav1.OwnerReference{ownerRef("cron", "cron-uid")}
		job.UID = types.UID(string(rune(i)))
		finish(time.Now())(job)
		s.guard.OnDelete(job)
	}
	s.store.sync(s.server)
	assert.Equal(t, jobgc.Succeeded, s.step(t).Outcome)
	assert.Equal(t, 1, s.creates)
}
