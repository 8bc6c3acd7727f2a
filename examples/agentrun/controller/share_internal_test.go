// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// slowTenant is a server that creates no Job in the namespace "tenant". There
// it takes its time and refuses.
type slowTenant struct {
	*server
	takes  time.Duration
	refuse func(*http.Request) (*http.Response, error)

	mu      sync.Mutex
	created map[string]time.Time   // the Jobs of the others, by run
	asked   map[string][]time.Time // in the tenant's namespace, by run
	waiting int                    // requests of the tenant
	most    int
}

func (s *slowTenant) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/jobs") {
		return s.server.RoundTrip(r)
	}
	job, err := sentJob(r)
	if err != nil {
		return nil, err
	}
	run := metav1.GetControllerOfNoCopy(job).Name
	if job.Namespace != "tenant" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.created[run] = time.Now()
		job.UID = types.UID("uid-of-" + job.Name)
		return reply(r, http.StatusCreated, job)
	}
	s.enter(run)
	defer s.leave()
	select {
	case <-time.After(s.takes):
		return s.refuse(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// sentJob is the Job of a request that creates it.
func sentJob(r *http.Request) (*batchv1.Job, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	job := new(batchv1.Job)
	_, kind, err := clientscheme.Codecs.UniversalDeserializer().Decode(body, nil, job)
	if err != nil {
		return nil, err
	}
	job.SetGroupVersionKind(*kind)
	return job, nil
}

func (s *slowTenant) enter(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[run] = append(s.asked[run], time.Now())
	s.waiting++
	s.most = max(s.most, s.waiting)
}

func (s *slowTenant) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

// refuse answers with an error as the API server does. A positive after is the
// header Retry-After.
func refuse(failed *apierrors.StatusError, after int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		status := failed.ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		response, err := reply(r, int(status.Code), status)
		if err == nil && after > 0 {
			response.Header.Set("Retry-After", fmt.Sprint(after))
		}
		return response, err
	}
}

// beside runs a controller with 40 runs of the tenant, and 10 runs of another
// namespace behind them, and returns when the last of the 10 had its Job. The
// API server was away a moment ago.
func beside(t *testing.T, s *slowTenant, during time.Duration) (latest time.Duration) {
	t.Helper()
	var keys []types.NamespacedName
	var runs []*v1alpha1.AgentRun
	for i := range 50 {
		run := newRun(fmt.Sprintf("run-%d", i), types.UID(fmt.Sprintf("uid-%d", i)))
		if i < 40 {
			run.Namespace = "tenant"
		}
		runs = append(runs, run)
		keys = append(keys, keyOf(run))
	}
	s.server = newServer(runs...)
	s.created = map[string]time.Time{}
	s.asked = map[string][]time.Time{}
	c := s.controllerOn(t, s, Options{})
	s.wrote = func(run *v1alpha1.AgentRun) { assert.NoError(t, c.scopes[0].runs.GetStore().Update(run)) }
	c.outage.wasAway()
	began := time.Now()
	for _, key := range keys {
		c.queue.Add(key)
	}
	var workers sync.WaitGroup
	for range c.options.Workers {
		workers.Go(func() { c.work(t.Context(), t.Context()) })
	}
	time.Sleep(during)
	c.queue.ShutDown()
	workers.Wait()
	require.Len(t, s.created, 10)
	for _, at := range s.created {
		latest = max(latest, at.Sub(began))
	}
	return latest
}

// TestOneTenant_DelaysNoOther: 40 runs of one namespace wait for a webhook that
// hangs, or are refused by a limit that lasts.
func TestOneTenant_DelaysNoOther(t *testing.T) {
	webhook := apierrors.NewInternalError(fmt.Errorf(`failed calling webhook "policy": context deadline exceeded`))
	busy := apierrors.NewTooManyRequests("the limit of the tenant", 5)
	reset := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	}
	tests := map[string]struct {
		reason string
		takes  time.Duration
		refuse func(*http.Request) (*http.Response, error)
		during time.Duration // until each run of the tenant was tried
	}{
		"Webhook": {
			"A webhook hangs until the default of its timeoutSeconds.",
			10 * time.Second, refuse(webhook, 0), 4 * time.Minute,
		},
		"LongWebhook":   {"It hangs for the longest timeoutSeconds.", 30 * time.Second, refuse(webhook, 0), 11 * time.Minute},
		"TooMany":       {"client-go would send each request eleven times.", 0, refuse(busy, 5), time.Minute},
		"InternalError": {"It does so after any 5xx with the header too.", 0, refuse(webhook, 5), time.Minute},
		"Reset":         {"A proxy refuses what they send.", 0, reset, time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowTenant{takes: tc.takes, refuse: tc.refuse}
				latest := beside(t, s, tc.during)
				t.Logf("the last of the others had its Job after %s", latest)
				assert.Less(t, latest, time.Second, tc.reason)
				assert.LessOrEqual(t, s.most, 2, "half of the workers")
				assert.Len(t, s.asked, 40, "each run of the tenant is tried")
			})
		})
	}
}

// TestRetryAfter_DelaysTheNextAttempt: a run waits as long as the API server
// asked, a minute at most, and longer if it fails again and again.
func TestRetryAfter_DelaysTheNextAttempt(t *testing.T) {
	busy := apierrors.NewTooManyRequests("busy", 0)
	for after, want := range map[int]time.Duration{1: time.Second, 20: 20 * time.Second, 86400: retryAtMost} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowTenant{refuse: refuse(busy, after)}
				beside(t, s, 4*time.Minute)
				for run, asked := range s.asked {
					require.Greater(t, len(asked), 2, run)
					assert.GreaterOrEqual(t, asked[1].Sub(asked[0]), want, run)
					assert.Less(t, asked[1].Sub(asked[0]), want+time.Second, run)
					assert.Less(t, len(asked), 40, "the pauses grow")
				}
			})
		})
	}
}

// TestRetryAfter_IsLeftToClientGoOutsideReconciles: an informer that waits
// delays no run.
func TestRetryAfter_IsLeftToClientGoOutsideReconciles(t *testing.T) {
	var sent int
	answers := func(r *http.Request) (*http.Response, error) {
		sent++
		return refuse(apierrors.NewTooManyRequests("busy", 0), 1)(r)
	}
	c := newServer().controllerOn(t, roundTripper(answers), Options{})
	run := types.NamespacedName{Namespace: "ns", Name: "a"}
	ctx := c.backoff.withRetryAfter(t.Context(), run)
	_, err := c.cluster.BatchV1().Jobs("ns").Get(ctx, "a", metav1.GetOptions{})
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	assert.Equal(t, 1, sent)
	assert.Equal(t, time.Second, c.backoff.When(run), "as long as the API server asked")
	assert.Less(t, c.backoff.When(run), time.Second, "once")
	sent = 0
	synctest.Test(t, func(t *testing.T) {
		_, err = c.cluster.BatchV1().Jobs("ns").Get(t.Context(), "a", metav1.GetOptions{})
		require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	})
	assert.Equal(t, 11, sent)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestShares_GiveANamespaceHalfOfTheWorkers(t *testing.T) {
	tests := map[string]struct {
		reason     string
		workers    int
		namespaces []string
		want       int
	}{
		"All":     {"Any namespace may be slow.", 4, []string{metav1.NamespaceAll}, 2},
		"Odd":     {"Half is the most.", 5, nil, 2},
		"Several": {"So may one of these.", 4, []string{"a", "b"}, 2},
		"One":     {"No other namespace waits.", 4, []string{"a"}, 4},
		"Single":  {"A single worker takes all.", 1, nil, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShares(tc.workers, tc.namespaces)
			run := func(i int) types.NamespacedName {
				return types.NamespacedName{Namespace: "a", Name: fmt.Sprint(i)}
			}
			took := 0
			for i := range 8 {
				if s.take(run(i), false) {
					took++
				}
			}
			assert.Equal(t, tc.want, took, tc.reason)
			assert.False(t, s.take(run(7), true), "It has its Job by now.")
			order := append([]int{7}, []int{0, 1, 2, 3, 4, 5, 6, 7}[took:]...)
			for _, i := range order {
				next, found := s.leave("a")
				require.True(t, found)
				assert.Equal(t, run(i), next, "A run with a Job is next, and then the run that has waited the longest.")
				assert.True(t, s.take(next, false))
			}
			for range took {
				_, found := s.leave("a")
				assert.False(t, found)
			}
			assert.Empty(t, s.workers, "Nothing is kept of a namespace without runs.")
			assert.Empty(t, s.first)
			assert.Empty(t, s.rest)
		})
	}
}

// TestALastingTimeout_GetsItsEvent: at first it may be an outage, which is no
// fault of the run.
func TestALastingTimeout_GetsItsEvent(t *testing.T) {
	for name, failed := range map[string]error{
		"TimedOut": context.DeadlineExceeded,
		"TooMany":  apierrors.NewTooManyRequests("busy", 1),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, _ := newStarted("nightly", nil)
				s := newServer(run)
				c := s.controller(t)
				attempts := func() int64 {
					_, before := c.find(keyOf(run))
					a := &attempt{Controller: c, scope: c.scopes[0], before: before, run: before.DeepCopy()}
					require.ErrorIs(t, a.recordDegraded(t.Context(), failed), failed)
					return c.recorder.Stats().Pending
				}
				assert.Zero(t, attempts())
				time.Sleep(persistAfter - time.Second)
				assert.Zero(t, attempts())
				time.Sleep(time.Second)
				assert.Equal(t, int64(1), attempts())
			})
		})
	}
}
