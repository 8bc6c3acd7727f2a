// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// TestIdleClusterSeesNoWrites: the controller does not write finished, waiting
// and running runs that do not change. (The heartbeat of runs that are not
// terminal is ten minutes.)
//
//req:shows S2
func TestIdleClusterSeesNoWrites(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	p := startController(t, stage)
	for i := range 6 {
		run := story(i)
		if i >= 3 {
			run.Spec.PodAnnotations["controlplane.controllerkit.dev/outcome"] = "never"
		}
		_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i := range 3 {
		ended(t.Context(), t, stage, story(i))
		reached(t, stage, story(3+i), v1alpha1.Running)
	}
	var before []string
	var requests int
	eventually(t, "the consequences have ended", func(ctx context.Context) bool {
		before, requests = versions(t, stage.Namespace), writes(t, p)
		wait(ctx, 5*time.Second)
		return slices.Equal(before, versions(t, stage.Namespace)) && requests == writes(t, p)
	})
	wait(t.Context(), 20*time.Second)
	assert.Equal(t, before, versions(t, stage.Namespace), "an object was written")
	assert.Equal(t, requests, writes(t, p), "the controller sent a status write")
}

// TestAnErrorThatNeverReadsTheSame: the error of a hindered run has another
// text at each attempt, like a quota with a time to retry. Each attempt writes
// the run once, the pauses grow, and a write causes no attempt. The transition
// time of the condition stays.
//
//req:shows E2
func TestAnErrorThatNeverReadsTheSame(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	var attempts, writes atomic.Int64
	config := plane.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs"):
				return forbid(r, fmt.Errorf("the quota is used up, come back in %ds", 3600-attempts.Add(1)))
			case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status"):
				writes.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	c, err := controller.New(config, m, controller.Options{Namespaces: []string{stage.Namespace}, Events: events.Options{Disabled: true}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { assert.NoError(t, c.Start(ctx)) })

	run := create(t, stage, "refused", nil)
	hindered := func(ctx context.Context) *metav1.Condition {
		now, err := stage.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return apimeta.FindStatusCondition(now.Status.Conditions, "Degraded")
	}
	var first, last *metav1.Condition
	eventually(t, "it is hindered", func(ctx context.Context) bool {
		first = hindered(ctx)
		return first != nil && first.Status == metav1.ConditionTrue
	})
	wait(t.Context(), 10*time.Second)
	eventually(t, "it was tried again", func(ctx context.Context) bool {
		last = hindered(ctx)
		return last.Message != first.Message
	})
	written, n := writes.Load(), attempts.Load() // in this order, because an attempt comes before its write
	t.Logf("%d attempts, %d writes of the status", n, written)
	assert.LessOrEqual(t, n, int64(10), "the pause doubles from 200 ms on: 7 in 12 seconds")
	assert.LessOrEqual(t, written, n+1, "one for each attempt, and one for the name of the Job")
	assert.Contains(t, last.Message, "come back in")
	assert.Equal(t, first.LastTransitionTime, last.LastTransitionTime)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// forbid answers the creation of a Job like an admission plugin.
func forbid(r *http.Request, why error) (*http.Response, error) {
	status := apierrors.NewForbidden(batchv1.Resource("jobs"), "", why).ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	return &http.Response{
		StatusCode: http.StatusForbidden, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// versions returns the resource versions of everything that the controller
// writes.
func versions(t *testing.T, namespace string) []string {
	t.Helper()
	text, err := kubectl.Run(t.Context(), nil, "--namespace="+namespace, "get", "aruns,jobs,events", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(text), "\n")
}

// writes returns the number of status writes and Events of the controller.
func writes(t *testing.T, p *rig.Process) (n int) {
	t.Helper()
	families, err := p.Metrics(t.Context())
	require.NoError(t, err)
	for _, m := range families["controller_status_writes_total"].GetMetric() {
		if result := m.GetLabel()[1].GetValue(); result != "unchanged" {
			n += int(m.GetCounter().GetValue())
		}
	}
	for _, m := range families["controller_events_total"].GetMetric() {
		n += int(m.GetCounter().GetValue())
	}
	require.Positive(t, n)
	return n
}
