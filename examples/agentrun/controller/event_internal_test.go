// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// failedJobs has runs whose Jobs have failed, which the runs do not know yet, on
// an API server that takes some time for an Event. It lists what was sent.
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
		case strings.Contains(r.URL.Path, "/jobs/"):
			note("release")
		}
		return s.RoundTrip(r)
	}), Options{})
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
		_, _ = c.step(t.Context(), types.NamespacedName{Namespace: "ns", Name: "nightly"}) // the server takes no patch of a Job
		assert.Equal(t, []string{"status", "event", "release"}, sent())
	})
}

// TestOneWorkerFindsOutThatEventsAreLate: a thousand runs that fail at once
// have more Events than a recorder writes.
func TestOneWorkerFindsOutThatEventsAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sent := failedJobs(t, time.Minute, "one", "two", "three")
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
	})
}
