// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// pipes is a listener whose connections are in memory, so that net/http works
// under a virtual clock.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accepted <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve returns a transport of net/http to a server of net/http.
func serve(t *testing.T, handler http.HandlerFunc) *http.Transport {
	t.Helper()
	p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Hour}
	var serving sync.WaitGroup
	serving.Go(func() { assert.ErrorIs(t, server.Serve(p), http.ErrServerClosed) })
	transport := &http.Transport{DialContext: p.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
	return transport
}

// TestCaches_NoticeAWatchThatIsDead: the first watch of the runs
// sends what is stored. Then it neither sends a change nor ends.
func TestCaches_NoticeAWatchThatIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, job := newStarted("nightly", nil)
		run.ResourceVersion = "100"
		run.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("AgentRun"))
		job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
		stored := map[string]runtime.Object{"agentruns": run, "jobs": job}
		changed := run.DeepCopy()
		changed.ResourceVersion = "101"
		transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			resource := path.Base(r.URL.Path)
			send := func(kind watch.EventType, obj runtime.Object) {
				assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": obj}))
			}
			switch {
			case r.URL.Query().Get("sendInitialEvents") == "true":
				end := stored[resource].DeepCopyObject()
				end.(metav1.Object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
				send(watch.Added, stored[resource])
				send(watch.Bookmark, end)
			case resource == "agentruns":
				send(watch.Modified, changed)
			}
			assert.NoError(t, http.NewResponseController(w).Flush())
			<-r.Context().Done()
		})
		c := newServer().controllerOn(t, transport, Options{})
		ctx, stop := context.WithCancel(t.Context())
		var informers sync.WaitGroup
		informers.Go(func() { c.scopes[0].runs.RunWithContext(ctx) })
		informers.Go(func() { c.scopes[0].jobs.RunWithContext(ctx) })
		require.True(t, c.scopes[0].fill(ctx))
		time.Sleep(requestTimeout + time.Second)
		_, cached := c.find(keyOf(run))
		assert.Equal(t, "101", cached.ResourceVersion, "the cache has the change")
		stop()
		informers.Wait()
	})
}
