// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// TestAnHourOverQuota: for an hour a quota refuses the Job of each of 100 runs.
// The controller tries each run again at least every two minutes, and makes no
// more than 100 retries a second. Once the quota has room, all runs continue
// within two minutes.
func TestAnHourOverQuota(t *testing.T) {
	const n = 100
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		limit := new(quota)
		s.before = limit.admit
		s.after = func(c change) { clusterReacts(s, c) }
		life, kill := context.WithCancel(t.Context())
		sent := &requests{through: &process{server: s, life: life}}
		ended := make(chan error, 1)
		go func() { ended <- ours(life, config(sent)) }()
		time.Sleep(time.Second)

		limit.set(true)
		began := time.Now()
		for i := range n {
			create(s, fmt.Sprint("run-", i))
		}
		time.Sleep(time.Hour)
		lifted := time.Now()
		limit.set(false)
		jobsBefore := s.createdOf(jobs)
		time.Sleep(10 * time.Minute)
		kill()
		require.NoError(t, <-ended)

		first := sent.between(began, began.Add(time.Second))
		hour := sent.between(began, lifted)
		later := sent.between(began.Add(time.Minute), lifted)
		t.Logf("of %d runs: %d requests in the first second; in the hour %d, at most %d a second after the first minute",
			n, len(first), len(hour), busiest(later))
		assert.LessOrEqual(t, busiest(hour), 3*(n+110)+2*n, "two reads and a creation for each attempt, a status and an Event for each run")
		assert.LessOrEqual(t, len(hour), 200*n, "an attempt of each run in two minutes")
		assert.Zero(t, jobsBefore)
		last := s.assertEnded(t, n)
		t.Logf("the last Job is created %s after the quota has room", last.Sub(lifted))
		assert.LessOrEqual(t, last.Sub(lifted), 2*time.Minute+time.Second)
	})
}

// assertEnded checks that n runs succeeded after one Job and one Warning each.
// It returns when the last Job was created.
func (s *server) assertEnded(t *testing.T, n int) (last time.Time) {
	t.Helper()
	assert.Equal(t, n, s.createdOf(jobs))
	succeeded := 0
	warned := map[string]bool{}
	for _, c := range s.history {
		switch {
		case c.base() == "events" && c.object.Object["type"] == "Warning":
			about, _ := c.object.Object["regarding"].(values)
			name, _ := about["name"].(string)
			warned[name] = true
		case c.base() == jobs && c.verb == "create":
			last = c.object.GetCreationTimestamp().Time
		case runEnded(c) && as[v1alpha1.AgentRun](c.object).Status.Phase == v1alpha1.Succeeded:
			succeeded++
		}
	}
	assert.Equal(t, n, succeeded, "the end of each run is written once")
	assert.Len(t, warned, n)
	return last
}

// create creates a run whose agent succeeds.
func create(s *server, name string) {
	s.do(byUser, "create", runs, "", name, values{
		"apiVersion": "agents.controllerkit.dev/v1alpha1", "kind": "AgentRun",
		"metadata": values{"name": name, "namespace": namespace},
		"spec":     values{"image": "agent", "podAnnotations": values{agentAnnotation: succeeds}},
	})
}

func (s *server) createdOf(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created[resource]
}

// quota refuses Jobs while it is exceeded.
type quota struct {
	mu       sync.Mutex
	exceeded bool
}

func (q *quota) set(exceeded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.exceeded = exceeded
}

// admit is called before each write.
func (q *quota) admit(at point) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.exceeded || at.verb != "create" || at.resource != jobs {
		return nil
	}
	return apierrors.NewForbidden(groupResource(jobs), "", errors.New(
		"exceeded quota: none, requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: count/jobs.batch=0"))
}

// requests is a connection that notes when each request is sent.
type requests struct {
	through http.RoundTripper
	mu      sync.Mutex
	at      []time.Time
}

// RoundTrip sends a request.
func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.at = append(r.at, time.Now())
	r.mu.Unlock()
	return r.through.RoundTrip(request)
}

// between returns the requests from one time until another.
func (r *requests) between(from, until time.Time) (some []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.at {
		if !at.Before(from) && at.Before(until) {
			some = append(some, at)
		}
	}
	return some
}

// busiest is how many requests there were in any second.
func busiest(at []time.Time) (most int) {
	first := 0
	for last := range at {
		for at[last].Sub(at[first]) >= time.Second {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}
