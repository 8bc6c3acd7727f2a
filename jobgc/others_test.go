// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_ListsANamespaceOnceForManyOwners: workers that begin together wait
// for one list. If it fails, the next one tries, and a worker whose time is
// over does not wait on.
func TestStep_ListsANamespaceOnceForManyOwners(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		takes     time.Duration // each list
		failures  int64         // of the first lists
		wantLists int64
		wantFails int
	}{
		"Burst":  {"One answer serves all.", time.Second, 0, 1, 0},
		"Failed": {"Its own worker returns the error, and the others have an answer.", time.Second, 1, 2, 1},
		"Hang":   {"No worker waits longer than its context allows.", time.Hour, 0, 1, 50},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lists atomic.Int64
				client := slowLists{
					fakeJobs: fakeJobs{create: func(job *batchv1.Job) (*batchv1.Job, error) {
						job.UID = types.UID(job.Name)
						return job, nil
					}},
					list: func(ctx context.Context) error {
						n := lists.Add(1)
						err := pause(ctx, tc.takes)
						if n <= tc.failures {
							return errors.New("away")
						}
						return err
					},
				}
				g, err := jobgc.New(func(string) slowLists { return client }, &fakeStore{}, jobgc.Options{})
				require.NoError(t, err)
				ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
				defer stop()
				var fails atomic.Int64
				var running sync.WaitGroup
				step := func(i int) {
					run := newAgentRun()
					run.UID = types.UID(fmt.Sprint(i))
					run.CreationTimestamp = metav1.Now()
					_, _, err := g.Step(ctx, requestOf(run))
					if err != nil {
						fails.Add(1)
					}
				}
				for i := range 50 {
					running.Go(func() { step(i) })
				}
				running.Wait()
				assert.Equal(t, tc.wantLists, lists.Load(), tc.reason)
				assert.EqualValues(t, tc.wantFails, fails.Load(), tc.reason)
			})
		})
	}
}

// slowLists is a client whose lists take time.
type slowLists struct {
	fakeJobs

	list func(context.Context) error
}

func (s slowLists) List(ctx context.Context, _ metav1.ListOptions) (*batchv1.JobList, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err() // client-go sends no request
	}
	return &batchv1.JobList{}, s.list(ctx)
}

// requestOf is the request of a stored owner without a Ref.
func requestOf(run *agentRun) jobgc.Request {
	return jobgc.Request{
		Owner:  run,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return run, nil, false, nil },
		Job: func() (*batchv1.Job, error) {
			job := ownedJob()
			job.Name = ""
			job.OwnerReferences[0].UID = run.UID
			return job, nil
		},
	}
}
