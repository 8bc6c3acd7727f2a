// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
)

// hanging is a namespace whose webhook answers no creation for ten seconds.
type hanging struct{ batchv1client.JobInterface }

func (hanging) Create(ctx context.Context, _ *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(10 * time.Second):
		return nil, apierrors.NewTimeoutError("failed calling webhook", 1)
	}
}

// TestAHealthyRunEndsWhileOthersHang: in 20 namespaces, 100 runs hang for ten
// seconds in each attempt at their creation. A run of another namespace that
// comes last in the queue ends within half a minute, at any time.
func TestAHealthyRunEndsWhileOthersHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objects []client.Object
		for i := range 100 {
			run := newRun(fmt.Sprintf("hangs-%d", i))
			run.Namespace = fmt.Sprintf("hanging-%d", i%20)
			objects = append(objects, run)
		}
		const waves = 4
		for i := range waves {
			objects = append(objects, newRun(fmt.Sprintf("healthy-%d", i)))
		}
		g := newRig(t, objects...)
		var err error
		g.jobs, err = jobgc.New(func(namespace string) batchv1client.JobInterface {
			jobs := g.cluster.BatchV1().Jobs(namespace)
			if namespace != "ns" {
				return hanging{jobs}
			}
			return jobs
		}, nil, jobgc.Options{})
		require.NoError(t, err)

		ctrl.SetLogger(logr.Discard())
		options, err := g.options()
		require.NoError(t, err)
		options.Reconciler = g.Reconciler
		options.SkipNameValidation = new(true)
		c, err := controller.NewUnmanaged("agentrun", options)
		require.NoError(t, err)
		queued := make(chan workqueue.TypedRateLimitingInterface[ctrl.Request], 1)
		require.NoError(t, c.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
			queued <- q
			return nil
		})))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		queue := <-queued
		for _, o := range objects[:100] {
			queue.Add(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		for _, o := range objects[100:] {
			run, ok := o.(*v1alpha1.AgentRun)
			require.True(t, ok)
			took := g.playHealthy(t, queue, run)
			t.Logf("%s ended after %s", run.Name, took)
			assert.LessOrEqual(t, took, 30*time.Second, run.Name)
			time.Sleep(33 * time.Second)
		}
		stop()
		require.NoError(t, <-ended)
	})
}

// playHealthy queues a run whose Job ends as soon as it exists, and returns how
// long the run takes to its end.
func (g *rig) playHealthy(
	t *testing.T, queue workqueue.TypedRateLimitingInterface[ctrl.Request], run *v1alpha1.AgentRun,
) time.Duration {
	t.Helper()
	began := time.Now()
	queue.Add(requestOf(run))
	for g.job(t, run) == nil {
		time.Sleep(100 * time.Millisecond)
	}
	g.change(t, run, ends(batchv1.JobComplete, ""))
	queue.Add(requestOf(run)) // the watch sees it
	for run.Status.Phase != v1alpha1.Succeeded {
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, g.Get(t.Context(), client.ObjectKeyFromObject(run), run))
		require.Less(t, time.Since(began), 10*time.Minute)
	}
	return time.Since(began)
}
