// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/status"
)

// watches holds back what the API server sends to watches while it is closed.
type watches struct {
	mu   sync.Mutex
	open chan struct{}
}

func (w *watches) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

func (w *watches) reopen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.open)
}

// wait returns when the watches are open or ctx ends.
func (w *watches) wait(ctx context.Context) {
	w.mu.Lock()
	open := w.open
	w.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
	}
}

type watching struct {
	*watches

	next http.RoundTripper
}

func (w *watches) around(next http.RoundTripper) http.RoundTripper { return watching{w, next} }

// RoundTrip delays the body of the response to a watch.
func (w watching) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") == "true" {
		response.Body = lateBody{response.Body, r.Context(), w.watches}
	}
	return response, err
}

type lateBody struct {
	io.ReadCloser

	ctx     context.Context
	watches *watches
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.watches.wait(b.ctx)
	return n, err
}

// verdict is a result of a reconcile of a run.
func verdict(run *v1alpha1.AgentRun, phase v1alpha1.Phase, reason string) {
	run.Status.Phase = phase
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason}
	status.SetCondition(&run.Status.Conditions, ready, time.Now())
}

// TestCommit_LosesNoVerdictToALateCache: 100 runs are reconciled twice on
// controller-runtime's cache. The watch delivers nothing between the two, so
// that the second reconcile starts from a copy that is older than the write of
// the first. For half of the runs its verdict is that of the old copy, and for
// half another field differs too. A write that returns nil is not tried again,
// because status.NeedsReconcile drops the event of a status write.
//
//req:shows S4
func TestCommit_LosesNoVerdictToALateCache(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	plane, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			plane.Keep()
		}
		assert.NoError(t, plane.Stop())
	})
	require.NoError(t, plane.InstallCRDs(ctx, filepath.Join("..", "crd")))
	ctrl.SetLogger(logr.Discard())
	config := plane.Config()

	t.Run("Commit", func(t *testing.T) {
		b := newBatch(ctx, t, config, "commit")
		writer := status.ForClient(b.c)
		writer.Owned = []string{"Ready"}
		lost, retried := b.reconcileTwice(t, func(before, run *v1alpha1.AgentRun) error {
			_, err := writer.Commit(ctx, before, run, status.Facts{})
			return err
		})
		assert.Zero(t, lost, "It refuses a copy that is older than its own last write.")
		assert.Len(t, b.names, retried, "the second reconcile started from an old copy")
	})
	// The other ways may lose any number. A patch that changes nothing in an old
	// copy leaves the newer verdict. The resourceVersion of an update makes the
	// API server refuse an old copy.
	t.Run("MergeFrom", func(t *testing.T) {
		b := newBatch(ctx, t, config, "mergefrom")
		b.reconcileTwice(t, func(before, run *v1alpha1.AgentRun) error {
			return b.c.Status().Patch(ctx, run, client.MergeFrom(before))
		})
	})
	t.Run("Update", func(t *testing.T) {
		b := newBatch(ctx, t, config, "update")
		b.reconcileTwice(t, func(_, run *v1alpha1.AgentRun) error { return b.c.Status().Update(ctx, run) })
	})
}

// batch is 100 runs and a client whose cache may be late.
type batch struct {
	ctx   context.Context
	admin client.Client
	c     client.Client
	late  *watches
	names []client.ObjectKey
}

func newBatch(ctx context.Context, t *testing.T, config *rest.Config, prefix string) *batch {
	t.Helper()
	b := &batch{ctx: ctx, admin: newClient(t, config), late: &watches{}}
	for i := range 100 {
		run := newRun(ctx, t, b.admin, fmt.Sprintf("%s-%d", prefix, i), nil)
		b.names = append(b.names, client.ObjectKeyFromObject(run))
	}
	b.late.close()
	b.late.reopen()
	b.c = newLateClient(ctx, t, config, b.late)
	return b
}

// reconcileTwice returns how many of the last verdicts were lost, and how many
// reconciles were tried again.
func (b *batch) reconcileTwice(t *testing.T, write func(before, run *v1alpha1.AgentRun) error) (lost, retried int) {
	t.Helper()
	for _, key := range b.names {
		require.NoError(t, b.reconcile(key, v1alpha1.Pending, "Waiting", write))
	}
	for _, key := range b.names {
		b.waitForCache(t, key, v1alpha1.Pending)
	}

	b.late.close()
	for _, key := range b.names {
		require.NoError(t, b.reconcile(key, v1alpha1.Running, "Started", write))
	}
	reasonOf := func(i int) string { return []string{"Waiting", "StillWaiting"}[i%2] }
	again := map[int]bool{}
	for i, key := range b.names {
		if b.reconcile(key, v1alpha1.Pending, reasonOf(i), write) != nil {
			again[i] = true
		}
	}
	b.late.reopen()
	for i := range again { // as the queue does
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			require.NoError(t, b.reconcile(b.names[i], v1alpha1.Pending, reasonOf(i), write))
		}, time.Minute, 10*time.Millisecond)
	}
	for i, key := range b.names {
		run := new(v1alpha1.AgentRun)
		require.NoError(t, b.admin.Get(b.ctx, key, run))
		if run.Status.Phase != v1alpha1.Pending || run.Status.Conditions[0].Reason != reasonOf(i) {
			lost++
		}
	}
	t.Logf("lost %d of %d verdicts, and tried %d again", lost, len(b.names), len(again))
	return lost, len(again)
}

// reconcile writes a verdict about the cached copy of a run.
func (b *batch) reconcile(key client.ObjectKey, phase v1alpha1.Phase, reason string, write func(before, run *v1alpha1.AgentRun) error) error {
	run := new(v1alpha1.AgentRun)
	err := b.c.Get(b.ctx, key, run)
	if err != nil {
		return err
	}
	before := run.DeepCopy()
	verdict(run, phase, reason)
	return write(before, run)
}

func (b *batch) waitForCache(t *testing.T, key client.ObjectKey, phase v1alpha1.Phase) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		run := new(v1alpha1.AgentRun)
		require.NoError(t, b.c.Get(b.ctx, key, run))
		require.Equal(t, phase, run.Status.Phase)
	}, time.Minute, 10*time.Millisecond)
}

// newLateClient returns a client that reads runs from a cache behind late.
func newLateClient(ctx context.Context, t *testing.T, config *rest.Config, late *watches) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	config = rest.CopyConfig(config)
	config.QPS = -1
	direct := rest.CopyConfig(config)
	config.Wrap(late.around)
	cached, err := cache.New(config, cache.Options{Scheme: scheme})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- cached.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	_, err = cached.GetInformer(ctx, new(v1alpha1.AgentRun))
	require.NoError(t, err)
	require.True(t, cached.WaitForCacheSync(ctx))
	c, err := client.New(direct, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: cached}})
	require.NoError(t, err)
	return c
}
