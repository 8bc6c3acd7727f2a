// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/controlplane"
)

const controller = "agents.example.com/agentrun"

var errAway = errors.New("dial postgres://app:hunter2@db:5432/runs: connection refused")

// stage is a namespace for one test.
type stage struct {
	cp        *controlplane.ControlPlane
	namespace string
	kube      kubernetes.Interface // with all rights
}

func newStage(t *testing.T, cp *controlplane.ControlPlane) *stage {
	t.Helper()
	kube, err := kubernetes.NewForConfig(cp.Config())
	require.NoError(t, err)
	ns, err := kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "events-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return &stage{cp: cp, namespace: ns.Name, kube: kube}
}

// object returns a ConfigMap without its kind, as from a typed client.
func (s *stage) object(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	cm, err := s.kube.CoreV1().ConfigMaps(s.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return cm
}

// reference returns an object of this namespace, which may not exist.
func (s *stage) reference(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "agents.example.com/v1", Kind: "AgentRun", Namespace: s.namespace, Name: name}
}

// recorder is a running Recorder, and the transport of its client.
type recorder struct {
	*events.Recorder

	next http.RoundTripper
	mu   sync.Mutex
	sent []string // the group, the method and the code of each answered request
}

// RoundTrip remembers the answers.
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	group := "core"
	if strings.HasPrefix(q.URL.Path, "/apis/events.k8s.io/") {
		group = "events.k8s.io"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, fmt.Sprint(group, " ", q.Method, " ", answer.StatusCode))
	return answer, nil
}

// answers returns the answers so far, in order.
func (r *recorder) answers() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

// A way makes a sink from a clientset.
type way func(kubernetes.Interface) *events.Sink

func bothGroups(cs kubernetes.Interface) *events.Sink {
	return events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
}

func coreOnly(cs kubernetes.Interface) *events.Sink { return events.NewCoreSink(cs.CoreV1().Events) }

// record runs a Recorder with the user of config until the test ends.
func record(t *testing.T, config *rest.Config, sink way, o events.Options) *recorder {
	t.Helper()
	r := new(recorder)
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.next = next
		return r
	})
	cs, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	o.Scheme = scheme.Scheme
	r.Recorder, err = events.New(sink(cs), controller, o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(logr.NewContext(context.WithoutCancel(t.Context()), logr.Discard()))
	var running sync.WaitGroup
	running.Go(func() { _ = r.RunWith(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return r
}

// flushed waits until everything is written, without losses.
func (r *recorder) flushed(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(logr.NewContext(t.Context(), logr.Discard()), 2*time.Minute)
	defer cancel()
	require.NoError(t, r.Flush(ctx))
}
