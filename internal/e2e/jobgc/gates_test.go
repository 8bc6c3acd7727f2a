// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// The gates of the design, printed with the numbers of other controllers'
// rules: the lister alone, the lister and a second look 100 ms later, the
// lister and then a live read.

// atOnce runs do for 0 to n-1, so many at a time.
func atOnce(n, workers int, do func(i int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range workers {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// count counts the answers of one rule.
type count struct {
	mu    sync.Mutex
	n     map[string]int
	first error
}

func (c *count) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *count) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = err
	}
}

// TestGateFalselyMissing: a Job that was just created is never called missing,
// for any lag of the watch. It is race 1 of the design's list.
//
//req:shows J2
func TestGateFalselyMissing(t *testing.T) {
	n := jobsOf(t, 1000)
	for _, lag := range []time.Duration{0, 50 * time.Millisecond, 250 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(lag.String(), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := s.controller(t, lag, jobgc.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var got count
			cached := func(name string) bool {
				_, exists, err := c.informer.GetStore().GetByKey(s.namespace + "/" + name)
				return err == nil && exists
			}
			var looking sync.WaitGroup
			atOnce(n, 8, func(i int) {
				name := fmt.Sprintf("job-%d", i)
				ref, err := ensure(ctx, c.guard, s.ref(name), s.job(name, suspended()))
				if err != nil {
					got.fail(err)
					return
				}
				if !cached(name) {
					got.add("lister")
					got.add("live reads of the lister's rule")
				}
				looking.Go(func() {
					suite.Wait(ctx, 100*time.Millisecond)
					if !cached(name) {
						got.add("second look")
					}
				})
				looking.Go(func() {
					f, err := c.decided(ctx, ref)
					if err != nil {
						got.fail(err)
					}
					if f.Lost() {
						got.add("ours")
					}
				})
			})
			looking.Wait()
			require.NoError(t, got.first)
			t.Logf("gate: falsely missing right after the creation, watch lag %s, of %d Jobs: ours %d with %d GETs; lister %d; second look %d; live GET 0 with %d GETs",
				lag, n, got.n["ours"], c.wire.requests("GET"), got.n["lister"], got.n["second look"], got.n["live reads of the lister's rule"])
			assert.Zero(t, got.n["ours"])
			assert.Zero(t, c.wire.requests("GET"))
			if lag >= 250*time.Millisecond {
				assert.Positive(t, got.n["second look"], "the wire does lag, or this shows nothing")
			}
		})
	}
}

// TestGateTTLZero: the result of a Job that its TTL of 0 deletes is found,
// whenever it is read. It is race 3 of the design's list.
//
//req:shows J4
func TestGateTTLZero(t *testing.T) {
	n := jobsOf(t, 40)
	const untilDeleted = time.Hour // the longest delay: until the TTL controller has deleted the Job
	for _, delay := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond, untilDeleted} {
		name := delay.String() + " later"
		if delay == untilDeleted {
			name = "deleted"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := s.controller(t, 0, jobgc.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var got count
			read := func(ref jobgc.Ref) {
				if delay < untilDeleted {
					suite.Wait(ctx, delay)
				}
				for delay == untilDeleted && ctx.Err() == nil {
					if _, cached, _ := c.informer.GetStore().GetByKey(s.namespace + "/" + ref.Name); !cached {
						break // which comes after the server
					}
					suite.Wait(ctx, 100*time.Millisecond)
				}
				if obj, exists, err := c.informer.GetStore().GetByKey(s.namespace + "/" + ref.Name); err != nil || !exists {
					got.add("lister")
				} else if job, ok := obj.(*batchv1.Job); !ok || jobgc.StateOf(job).State != jobgc.Finished {
					got.fail(fmt.Errorf("%s must be finished", ref.Name))
				}
				if _, err := s.jobs.Get(ctx, ref.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
					got.add("live GET")
				}
				f, err := c.decided(ctx, ref)
				if err != nil {
					got.fail(err)
				}
				if f.Outcome != jobgc.Succeeded {
					got.add("ours")
				}
				got.add(f.Source)
				got.add(f.Hint)
			}
			var finished sync.Map
			of := func(uid types.UID) chan jobgc.Ref { // what tells that a Job has finished, once
				ref, _ := finished.LoadOrStore(uid, make(chan jobgc.Ref, 1))
				return ref.(chan jobgc.Ref)
			}
			_, err := c.informer.AddEventHandler(onJob(func(job *batchv1.Job) {
				if jobgc.StateOf(job).State != jobgc.Finished {
					return
				}
				select {
				case of(job.UID) <- jobgc.Ref{Namespace: s.namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion}:
				default:
				}
			}))
			require.NoError(t, err)
			// Not more concurrently than the controllers keep up with: a TTL
			// controller with a backlog deletes too late to lose anything.
			atOnce(n, 40, func(i int) {
				job, err := s.jobs.Create(ctx, s.job(fmt.Sprintf("job-%d", i), ttl(0)), metav1.CreateOptions{})
				if err != nil {
					got.fail(err)
					return
				}
				select {
				case ref := <-of(job.UID):
					read(ref)
				case <-ctx.Done():
					got.fail(fmt.Errorf("%s has not finished: %w", job.Name, ctx.Err()))
				}
			})
			require.NoError(t, got.first)
			t.Logf("gate: TTL 0, read %s, of %d Jobs lost: ours %d (seen %d, tombstone %d) with %d GETs; lister %d; live GET %d",
				name, n, got.n["ours"], got.n["Seen"], got.n["Tombstone"], c.wire.requests("GET"), got.n["lister"], got.n["live GET"])
			assert.Zero(t, got.n["ours"])
			assert.Zero(t, c.wire.requests("GET"), "what the informer brought is enough")
			if delay == untilDeleted {
				assert.Equal(t, n, got.n["live GET"], "the TTL controller has deleted all Jobs")
				assert.Equal(t, n, got.n["Tombstone"])
				assert.Equal(t, n, got.n["probably deleted by its TTL"])
			}
		})
	}
}
