// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/proompteng/controllerkit/jobgc"
)

// slowJobs is a client whose creations take time, as behind a rate limiter or
// an admission webhook. It honours the context, as client-go does.
type slowJobs struct {
	fakeJobs
	wait func(ctx context.Context) error
}

func (s slowJobs) Create(ctx context.Context, job *batchv1.Job, o metav1.CreateOptions) (*batchv1.Job, error) {
	if err := s.wait(ctx); err != nil {
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

// TestStepCreates_BehindTheRateLimiterOfClientGo: 150 runs begin together, and
// the client has the QPS and Burst that client-go sets by default.
func TestStepCreates_BehindTheRateLimiterOfClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		s := newServer()
		limit := flowcontrol.NewTokenBucketRateLimiter(5, 10)
		locked := s.client("ns")
		create := locked.create
		locked.create = func(job *batchv1.Job) (*batchv1.Job, error) {
			mu.Lock()
			defer mu.Unlock()
			return create(job)
		}
		g, err := jobgc.NewUncached(func(string) slowJobs { return slowJobs{locked, limit.Wait} }, jobgc.Options{})
		require.NoError(t, err)
		var running sync.WaitGroup
		for i := range 150 {
			run := newAgentRun()
			run.Name = fmt.Sprint("run", i)
			run.UID = types.UID(run.Name)
			running.Go(func() {
				_, _, err := g.Step(t.Context(), jobgc.Request{
					Owner: run,
					Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
						return run, nil, false, limit.Wait(ctx)
					},
					Job: func() (*batchv1.Job, error) {
						return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ownerRef(run.Name, run.UID)}}}, nil
					},
				})
				assert.NoError(t, err)
			})
		}
		running.Wait()
		assert.Len(t, s.jobs, 150)
	})
}

// TestStepCreates_WithinItsTimes holds a creation to 30 seconds for the read of
// the owner and 60 for the creation, and the error to what used the time.
func TestStepCreates_WithinItsTimes(t *testing.T) {
	slowly := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error { return pause(ctx, d) }
	}
	for name, tc := range map[string]struct {
		reason         string
		read, create   func(context.Context) error
		stall, context time.Duration // between the read and the creation; of the caller
		want           string        // words of the error; empty: created
	}{
		"Webhook":     {"A slow admission does not stop a creation.", slowly(0), slowly(12 * time.Second), 0, time.Hour, ""},
		"AllItsTime":  {"Both may take as long as is documented.", slowly(29 * time.Second), slowly(59 * time.Second), 0, time.Hour, ""},
		"SlowRead":    {"An old answer is not believed.", slowly(31 * time.Second), slowly(0), 0, time.Hour, "Request.Stored: the read of the owner needs more than 30s, its wait for the client's rate limiter included"},
		"DeafRead":    {"So it is if Stored ignores its context.", func(context.Context) error { time.Sleep(31 * time.Second); return nil }, slowly(0), 0, time.Hour, "Request.Stored: the read of the owner needs more than 30s"},
		"FullLimiter": {"The limiter refuses immediately.", func(context.Context) error { return errors.New("rate: Wait(n=1) would exceed context deadline") }, slowly(0), 0, time.Hour, "needs more than 30s, its wait for the client's rate limiter included: rate: Wait"},
		"Stall":       {"The name may be free again.", slowly(0), slowly(0), 60 * time.Second, time.Hour, "ns/run-run-uid was not created: the process stalled, and owner was read more than 1m0s ago"},
		"SlowCreate":  {"The name may be free again.", slowly(0), slowly(61 * time.Second), 0, time.Hour, "create ns/run-run-uid: the creation needs more than 1m0s, its wait for the client's rate limiter included"},
		"CallersRead": {"The caller's context is shorter.", slowly(20 * time.Second), slowly(0), 0, 10 * time.Second, "Request.Stored: the read of the owner did not end before the context of Step did"},
		"CallersTime": {"The caller's context is shorter.", slowly(0), slowly(20 * time.Second), 0, 10 * time.Second, "create ns/run-run-uid: the creation did not end before the context of Step did"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				g, err := jobgc.New(func(ns string) slowJobs {
					time.Sleep(tc.stall)
					return slowJobs{s.client(ns), tc.create}
				}, s.store.get, s.store, jobgc.Options{})
				require.NoError(t, err)
				req := s.request(s.stored)
				req.Stored = func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
					return newAgentRun(), nil, false, tc.read(ctx)
				}
				ctx, cancel := context.WithTimeout(t.Context(), tc.context)
				defer cancel()
				_, _, err = g.Step(ctx, req)
				if tc.want == "" {
					require.NoError(t, err, tc.reason)
					assert.NotEmpty(t, s.jobs, tc.reason)
					return
				}
				require.ErrorContains(t, err, tc.want, tc.reason)
				assert.Empty(t, s.jobs, tc.reason)
			})
		})
	}
}

// TestStepCreates_AnAnsweredReadKeepsItsError: how long the API server took to
// refuse is not what is wrong.
func TestStepCreates_AnAnsweredReadKeepsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		refused := apierrors.NewInternalError(errUnexpected)
		s.edit = func(req *jobgc.Request) {
			req.Stored = func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
				time.Sleep(time.Minute)
				return nil, nil, false, refused
			}
		}
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.EqualError(t, err, "jobgc: step: Request.Stored: "+refused.Error())
	})
}

// TestStep_LogsAShortRetentionOnce, to the first logger that a context has.
func TestStep_LogsAShortRetentionOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		keep   jobgc.Retention
		want   int
	}{
		"Keeps":  {"A name that is never free is not taken again.", jobgc.Retention{}, 0},
		"Enough": {"The creation is given up before the name is free.", jobgc.Retention{SucceededTTL: 90 * time.Second, FailedTTL: time.Hour}, 0},
		"Short":  {"Both outcomes free the name.", jobgc.Retention{SucceededTTL: 89 * time.Second, FailedTTL: time.Second}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			log := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{})
			s := newStage(t, jobgc.Options{Retention: tc.keep})
			s.step(t) // without a logger
			for range 3 {
				_, _, err := s.guard.Step(logr.NewContext(t.Context(), log), s.request(s.stored))
				require.NoError(t, err)
			}
			require.Len(t, lines, tc.want, tc.reason)
			for _, line := range lines {
				assert.Contains(t, line, "jobgc")
				assert.Contains(t, line, "Retention.SucceededTTL 1m29s: a replica that stalls")
				assert.Contains(t, line, "Retention.FailedTTL 1s: a replica that stalls")
			}
		})
	}
}
