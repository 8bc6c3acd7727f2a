// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestGateTwoReplicas: two replicas work on the same runs, and the cache of
// owners of one of them is late. Every one of their requests may be the last:
// the replica then forgets all that it knew and starts again.
//
//req:shows J3 J4
func TestGateTwoReplicas(t *testing.T) {
	n := jobsOf(t, 20)
	for _, ttl := range []int32{0, 1, 600} {
		t.Run(fmt.Sprint(ttl), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			seen := s.watchJobs(t)
			atOnce(n-1, 8, func(i int) { s.newRun(t, fmt.Sprintf("run-%d", i)) })
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
			defer stop()
			done := func() int {
				list, err := s.kube.CoreV1().ConfigMaps(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "run=yes"})
				require.NoError(t, err)
				ended := 0
				for i := range list.Items {
					ref, is, err := recordOf(&list.Items[i])
					require.NoError(t, err)
					if is {
						ended++
						assert.Equal(t, jobgc.Succeeded, ref.Outcome, "%s: %v", list.Items[i].Name, list.Items[i].Data)
					}
				}
				return ended
			}
			var both sync.WaitGroup
			kills := make([]int, 2)
			for i, lag := range []time.Duration{0, 500 * time.Millisecond} {
				both.Go(func() { kills[i] = s.replica(ctx, lag, ttl) })
			}
			for done() < n {
				require.NoError(t, ctx.Err(), "%d of %d runs have ended", done(), n)
				wait(ctx, 200*time.Millisecond)
			}
			stop()
			both.Wait()
			twice := 0
			for _, uids := range seen() {
				twice += len(uids) - 1
			}
			t.Logf("gate: %d runs with a Job TTL of %d, two replicas killed %v times, owner caches 0 and 0 to 500 ms late: 0 lost, %d run twice", n, ttl, kills, twice)
			assert.Zero(t, twice)
		})
	}
}

// replica is a controller that is killed now and then, until ctx ends.
func (s *stage) replica(ctx context.Context, lag time.Duration, ttl int32) (kills int) {
	for ctx.Err() == nil {
		life, kill := context.WithTimeout(ctx, time.Duration(500+rand.IntN(2500))*time.Millisecond)
		s.oneLife(life, lag, ttl)
		kill()
		kills++
	}
	return kills
}

// oneLife is one life of it.
func (s *stage) oneLife(ctx context.Context, lag time.Duration, ttl int32) {
	factory := informers.NewSharedInformerFactoryWithOptions(s.kube, 0, informers.WithNamespace(s.namespace))
	jobs, runs := factory.Batch().V1().Jobs().Informer(), factory.Core().V1().ConfigMaps().Informer()
	guard, err := jobgc.New(s.kube.BatchV1().Jobs, jobs, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: time.Hour}})
	if err != nil {
		return
	}
	defer factory.Shutdown()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	factory.StartWithContext(running)
	factory.WaitForCacheSyncWithContext(ctx)
	w := &worker{kube: s.kube, guard: guard}
	late := map[string]*corev1.ConfigMap{} // the cache of owners, as it was a while ago
	for ctx.Err() == nil {
		for _, item := range runs.GetStore().List() {
			run, ok := item.(*corev1.ConfigMap)
			if !ok || run.Labels["run"] == "" {
				continue
			}
			if late[run.Name] == nil || lag == 0 || rand.N(lag) < 50*time.Millisecond {
				late[run.Name] = run
			}
			err := w.stepOnce(ctx, late[run.Name].DeepCopy(), func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = &ttl })
			if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				wait(ctx, 10*time.Millisecond)
			}
		}
		wait(ctx, 20*time.Millisecond)
	}
}
