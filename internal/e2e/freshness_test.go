// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/metrics/kube"
)

// TestCache_BehindAProxyThatStopsDelivering: a watch hangs open. The informer
// has no error and lacks an object. The age of its cache grows, and the check
// fails. When the proxy delivers again, the age begins again.
//
//req:shows O2
func TestCache_BehindAProxyThatStopsDelivering(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	config := plane.Config()
	proxy := newProxy(t, strings.TrimPrefix(config.Host, "https://"))
	config.Host = "https://" + proxy.listener.Addr().String()
	through, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	informer := coreinformers.NewConfigMapInformer(through, stage.Namespace, 0, nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	defer func() {
		stop()
		proxy.deliver(true)
		<-ended
	}()
	c := kube.NewCache(nil, "configmaps", informer)
	const limit = 2 * time.Second
	ready := c.Check(limit)
	create := func(name string) {
		_, err := stage.Kube.CoreV1().ConfigMaps(stage.Namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	has := func(name string) bool {
		_, found, err := informer.GetStore().GetByKey(stage.Namespace + "/" + name)
		require.NoError(t, err)
		return found
	}
	create("first")
	suite.Eventually(t, "the first object is cached", func(context.Context) bool { return has("first") })
	require.NoError(t, ready(nil))

	proxy.deliver(false)
	create("second")
	suite.Eventually(t, "the cache is stale", func(context.Context) bool { return c.Age() > limit })
	require.ErrorContains(t, ready(nil), "the cache of configmaps got nothing from the API server")
	assert.False(t, has("second"))
	assert.True(t, informer.HasSynced(), "the informer does not notice")

	proxy.deliver(true)
	suite.Eventually(t, "the second object is cached", func(context.Context) bool { return has("second") })
	suite.Eventually(t, "the cache is fresh", func(context.Context) bool { return ready(nil) == nil })
}

// proxy copies connections to a server, and stops to deliver what the server
// sends while the test wants it.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	wake     *sync.Cond
	stopped  bool
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener}
	p.wake = sync.NewCond(&p.mu)
	var connections sync.WaitGroup
	t.Cleanup(func() {
		p.deliver(true)
		_ = listener.Close()
		connections.Wait()
	})
	connections.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				continue
			}
			connections.Go(func() {
				_, _ = io.Copy(far, near)
				_ = far.Close()
			})
			connections.Go(func() {
				_, _ = io.Copy(gated{near, p}, far)
				_ = near.Close()
			})
		}
	})
	return p
}

// deliver says whether the proxy delivers.
func (p *proxy) deliver(delivers bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = !delivers
	p.wake.Broadcast()
}

// gated waits before each write until the proxy delivers.
type gated struct {
	io.Writer
	p *proxy
}

func (g gated) Write(b []byte) (int, error) {
	g.p.mu.Lock()
	for g.p.stopped {
		g.p.wake.Wait()
	}
	g.p.mu.Unlock()
	return g.Writer.Write(b)
}
