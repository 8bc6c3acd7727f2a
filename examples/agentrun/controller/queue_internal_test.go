// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// sleeping is a tracer whose reconciles take a tenth of a second.
type sleeping struct{ noop.Tracer }

func (sleeping) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	time.Sleep(time.Second / 10)
	return ctx, noop.Span{}
}

// TestQueue_RunsThatHaveAJobGoFirst: a Job may be deleted before its Ref is
// written. A thousand runs that have no Job yet are in the queue.
func TestQueue_RunsThatHaveAJobGoFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		begins func(c *Controller, run *v1alpha1.AgentRun, waiting func())
	}{
		"NewJob": {
			"The write that waits for the Job's start waits for that time alone.",
			func(c *Controller, run *v1alpha1.AgentRun, waiting func()) {
				c.queue.Add(keyOf(run))
				waiting()
			},
		},
		"JobEvent": {
			"An event of a Job brings its run forward.",
			func(c *Controller, run *v1alpha1.AgentRun, waiting func()) {
				waiting()
				c.queue.Add(keyOf(run))
				job := as[batchv1.Job](c.scopes[0].jobs.GetStore().List()[0])
				c.jobChanged(nil, job)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, job := newStarted("nightly", nil)
				run.Status = v1alpha1.AgentRunStatus{}
				job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
				job.CreationTimestamp = metav1.Now()
				s := newServer(run)
				c := s.controllerOn(t, s, Options{Workers: 1})
				c.options.Tracer = sleeping{}
				require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
				tc.begins(c, run, func() {
					for i := range 1000 {
						c.queue.Add(types.NamespacedName{Namespace: "ns", Name: "waits-" + strconv.Itoa(i)})
					}
				})
				leading, stop := context.WithTimeout(t.Context(), 2300*time.Millisecond)
				defer stop()
				c.lead(leading, leading)
				assert.NotNil(t, s.runs["nightly"].Status.JobRef, tc.reason)
				assert.Equal(t, 1, s.writes["nightly"])
			})
		})
	}
}

// TestAWriteOfTheStatusCausesNoAttempt: the error of a run may have another
// text at each attempt, and its write must not begin the next one.
//
//req:shows E2
func TestAWriteOfTheStatusCausesNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newServer().controller(t)
		before, _ := newStarted("nightly", nil)
		before.Generation, before.ResourceVersion = 1, "1"
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		setDegraded(after, "Forbidden", "come back in 3599s", time.Now())
		c.runChanged(before, after)
		assert.Zero(t, c.queue.Len())

		after.Generation++
		c.runChanged(before, after)
		assert.Equal(t, 1, c.queue.Len(), "a new spec does")
		c.queue.ShutDown()
	})
}
