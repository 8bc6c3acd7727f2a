// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
	"github.com/proompteng/controllerkit/status"
)

// the server does not answer.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection reset by peer")
}

// The API server dies after it has recorded the end of a run, and before it
// answers. The cache brings the end, and the controller reports it once.
func TestAnEndWhoseRecordWasNotAnsweredIsAnnouncedOnce(t *testing.T) {
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: nobody{}}, m, Options{})
	require.NoError(t, err)
	recorded := func() int64 { return c.recorder.Stats().Recorded }
	run := newRun("nightly", "uid-1")
	run.ResourceVersion = "1"
	a := &attempt{Controller: c, scope: c.scopes[0], before: run, run: run.DeepCopy()}
	refused := &failure{events.InvalidSpec, "spec.image is empty"}
	setPhase(a.run, v1alpha1.Failed, refused.reason, refused.message, time.Now())
	require.ErrorContains(t, a.recordEnd(t.Context(), refused), "connection reset")
	require.Zero(t, recorded(), "it is not yet known whether it is recorded")

	stored := a.run.DeepCopy()
	now := metav1.Now()
	stored.ResourceVersion, stored.Status.Stamp = "2", status.Stamp{ObservedGeneration: stored.Generation, UpdatedAt: &now, FinishedAt: &now}
	require.NoError(t, c.scopes[0].runs.GetStore().Add(stored))
	for range 2 {
		_, err := c.step(t.Context(), keyOf(run))
		require.NoError(t, err)
		assert.Equal(t, int64(1), recorded())
	}
}

// The same with a slow cache: another writer overtook the attempt on the old
// copy.
func TestAnEndThatIsRecordedTwiceIsAnnouncedOnce(t *testing.T) {
	run, _ := newStarted("nightly", nil)
	s := newServer(run)
	c := s.controller(t)
	_, err := c.step(t.Context(), keyOf(run))
	require.NoError(t, err)
	time.Sleep(1100 * time.Millisecond) // its delete event would have come
	s.refresh(t, c)
	clear(s.writes)
	s.lose = true
	_, err = c.step(t.Context(), keyOf(run))
	require.ErrorContains(t, err, "connection reset")
	_, err = c.step(t.Context(), keyOf(run))
	require.ErrorIs(t, err, status.ErrStaleRead)
	require.Zero(t, c.recorder.Stats().Recorded)
	for range 2 { // although the cache has not caught up
		_, err = c.step(t.Context(), keyOf(run))
		require.NoError(t, err)
		assert.Equal(t, int64(1), c.recorder.Stats().Recorded)
	}
	assert.Equal(t, 1, s.writes[run.Name])
}

// Two replicas find the same Job lost, and one of them does not know yet that
// it no longer leads. The replica that records the loss reports it.
//
//req:shows J3
func TestAnEndThatAnotherReplicaRecordedIsItsToTell(t *testing.T) {
	tests := map[string]struct {
		reason string
		taken  bool // the second replica finds the name taken by another Job
	}{
		"TheSame":   {"There is nothing left to write for the second.", false},
		"Otherwise": {"What the first recorded stays, and the second has nothing to add.", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			run, job := newStarted("nightly", nil)
			s := newServer(run)
			endpoint, err := prom.New(prom.Options{})
			require.NoError(t, err)
			s.meters = endpoint // of both, whose counts add up
			first, second := s.controller(t), s.controller(t)
			for _, c := range []*Controller{first, second} {
				_, err = c.step(t.Context(), keyOf(run))
				require.NoError(t, err)
				s.refresh(t, first)
				s.refresh(t, second)
			}
			clear(s.writes)
			time.Sleep(1100 * time.Millisecond) // the delete event of its Job would have come
			_, err = first.step(t.Context(), keyOf(run))
			require.NoError(t, err)
			if tc.taken {
				s.job = func(string) *batchv1.Job {
					job.UID = "another"
					return job
				}
			}
			_, err = second.step(t.Context(), keyOf(run)) // its cache does not have it, and a live read finds it
			require.NoError(t, err)
			s.refresh(t, second)
			_, err = second.step(t.Context(), keyOf(run))
			require.NoError(t, err)
			assert.Equal(t, v1alpha1.Failed, s.runs[run.Name].Status.Phase)
			assert.Equal(t, 1, s.writes[run.Name], tc.reason)
			assert.Equal(t, []int64{1, 0}, []int64{first.recorder.Stats().Recorded, second.recorder.Stats().Recorded}, tc.reason)
			page := httptest.NewRecorder()
			endpoint.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			assert.Contains(t, page.Body.String(), "\ncontroller_missing_jobs_total{controller=\"agentrun\"} 1\n", tc.reason)
		})
	}
}

// TestFollow_AnnouncesFailuresOfAKilledLeader: it was killed after it had
// recorded the failure, and before it wrote the Event.
func TestFollow_AnnouncesFailuresOfAKilledLeader(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(st *v1alpha1.AgentRunStatus, job *batchv1.Job)
		want   int64
	}{
		"NotReleased": {"A leader announces before it releases.", func(*v1alpha1.AgentRunStatus, *batchv1.Job) {}, 1},
		"Released": {"It was announced before.", func(_ *v1alpha1.AgentRunStatus, j *batchv1.Job) {
			j.Annotations = map[string]string{releasedAnnotation: "2026-11-24T10:00:00Z"}
		}, 0},
		"Collected": {"Only a released Job is deleted.", func(_ *v1alpha1.AgentRunStatus, j *batchv1.Job) { j.UID = "another" }, 0},
		"Held": {"Its Job was deleted before it finished.", func(st *v1alpha1.AgentRunStatus, j *batchv1.Job) {
			st.JobRef.Outcome = ""
			j.Finalizers = []string{HoldFinalizer}
		}, 1},
		"Unfinished": {"A Job without a hold that has not finished fails no run.", func(st *v1alpha1.AgentRunStatus, _ *batchv1.Job) { st.JobRef.Outcome = "" }, 0},
		"NoJob":      {"Nothing shows whether it was announced.", func(st *v1alpha1.AgentRunStatus, _ *batchv1.Job) { st.JobRef = nil }, 0},
		"NoRelease":  {"Nothing shows it: the Job had its final TTL from the start.", func(st *v1alpha1.AgentRunStatus, _ *batchv1.Job) { st.JobRef.Released = true }, 0},
		"Succeeded":  {"Only a failure has an Event.", func(st *v1alpha1.AgentRunStatus, _ *batchv1.Job) { st.Phase = v1alpha1.Succeeded }, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, job := newStarted("nightly", nil)
				setPhase(run, v1alpha1.Failed, reasonJobFailed, "Job run-nightly failed", time.Now())
				run.Status.JobRef.Outcome = jobgc.Failed
				tc.change(&run.Status, job)
				c, _, _ := followingOf(t, run, job)
				assert.Equal(t, tc.want, c.recorder.Stats().Recorded, tc.reason)
			})
		})
	}
}

// TestAnEndWithoutAFailureIsARecovery: of a run that was Degraded before.
func TestAnEndWithoutAFailureIsARecovery(t *testing.T) {
	run, _ := newStarted("nightly", new(metav1.Now()))
	c := newServer(run).controller(t)
	scope, before := c.find(keyOf(run))
	c.recorder.Failure(before, &failure{reasonNoPods, "no pods"})
	a := &attempt{Controller: c, scope: scope, before: before, run: before.DeepCopy()}
	setPhase(a.run, v1alpha1.Succeeded, reasonSucceeded, "", time.Now())
	require.NoError(t, a.recordEnd(t.Context(), nil))
	assert.Equal(t, int64(2), c.recorder.Stats().Recorded)
}

// failedJobs has runs whose Jobs have failed, which is not recorded yet. The
// API server takes some time for an Event. It lists what was sent.
func failedJobs(t *testing.T, event time.Duration, names ...string) (*Controller, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var sent []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, what)
	}
	var runs []*v1alpha1.AgentRun
	var jobs []*batchv1.Job
	for _, name := range names {
		run, job := newStarted(name, new(metav1.Now()))
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
		job.Annotations = map[string]string{"jobgc.controllerkit.dev/retention": "keep"} // as each Job of a Guard
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		runs = append(runs, run)
		jobs = append(jobs, job)
	}
	s := newServer(runs...)
	c := s.controllerOn(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/events"):
			time.Sleep(event)
			note("event")
			return reply(r, http.StatusCreated, corev1.Event{})
		case strings.HasSuffix(r.URL.Path, "/status"):
			note("status")
		case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/jobs/"):
			note("release")
			return reply(r, http.StatusOK, jobs[0])
		}
		return s.RoundTrip(r)
	}), Options{Retention: settings.Settings{Jobs: jobgc.Retention{FailedTTL: time.Hour}}})
	for _, job := range jobs {
		require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
	}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() { _ = c.recorder.Start(ctx) })
	t.Cleanup(func() {
		stop()
		writing.Wait()
		c.queue.ShutDown()
	})
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return sent
	}
}

// TestAReleaseFollowsItsEventAtOnce: other runs may be ahead in the queue, and
// a process that is killed in that time has the Event repeated.
func TestAReleaseFollowsItsEventAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sent := failedJobs(t, 40*time.Millisecond, "nightly")
		_, err := c.step(t.Context(), types.NamespacedName{Namespace: "ns", Name: "nightly"})
		require.NoError(t, err)
		assert.Equal(t, []string{"status", "event", "release"}, sent())
	})
}

// TestNoWorkerWaitsForAnEventInVain: for a second after one has. A thousand
// runs that fail at once have more Events than a recorder writes. Nor does one
// wait if there is no Job to release.
func TestNoWorkerWaitsForAnEventInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sent := failedJobs(t, time.Minute, "one", "two", "three", "four")
		wants := map[string]time.Duration{"one": eventTime, "two": 0, "three": eventTime}
		for _, name := range []string{"one", "two", "three"} {
			began := time.Now()
			_, err := c.step(t.Context(), types.NamespacedName{Namespace: "ns", Name: name})
			require.NoError(t, err)
			assert.Equal(t, wants[name], time.Since(began), name)
			if name == "two" {
				time.Sleep(eventPause)
			}
		}
		assert.NotContains(t, sent(), "release")

		time.Sleep(eventPause)
		scope, run := c.find(types.NamespacedName{Namespace: "ns", Name: "four"})
		require.NoError(t, scope.jobs.GetStore().Replace(nil, ""))
		a := &attempt{Controller: c, scope: scope, before: run, run: run.DeepCopy()}
		setPhase(a.run, v1alpha1.Failed, events.InvalidSpec, "spec.image is empty", time.Now())
		began := time.Now()
		_, err := a.end(t.Context(), &failure{events.InvalidSpec, "spec.image is empty"})
		require.NoError(t, err)
		assert.Zero(t, time.Since(began), "without a Job")
	})
}
