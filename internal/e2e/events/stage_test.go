// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
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

var errAway = errors.New("the store is away")

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

// stored returns the Events of the namespace in the order of their names, which
// for one object is the order of their creation.
func (s *stage) stored(t *testing.T) []corev1.Event {
	t.Helper()
	return s.storedIn(t, s.namespace)
}

// storedIn reads the Events through the core group, which is always served and
// has the fields of both groups.
func (s *stage) storedIn(t *testing.T, namespace string) []corev1.Event {
	t.Helper()
	list, err := s.kube.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reportingComponent=" + controller})
	require.NoError(t, err)
	return list.Items
}

// reported returns the number of occurrences that an Event reports.
func reported(ev corev1.Event) int {
	if ev.Series == nil {
		return 1
	}
	return int(ev.Series.Count)
}

// recorder is a running Recorder with its requests and log.
type recorder struct {
	*events.Recorder

	wire *wire
	log  *book
	stop func() error
}

// A way makes a sink from a clientset.
type way func(kubernetes.Interface) *events.Sink

func bothGroups(cs kubernetes.Interface) *events.Sink {
	return events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
}

func coreOnly(cs kubernetes.Interface) *events.Sink { return events.NewCoreSink(cs.CoreV1().Events) }

// record runs a Recorder with the user of config until the test ends or stops
// it.
func record(t *testing.T, config *rest.Config, sink way, o events.Options) *recorder {
	t.Helper()
	r := &recorder{wire: &wire{}, log: &book{}}
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // readable for the tests; by default a clientset sends protobuf
	config.Wrap(r.wire.Around)
	cs, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	r.Recorder, err = events.New(sink(cs), controller, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(logr.NewContext(context.WithoutCancel(t.Context()), funcr.New(r.log.write, funcr.Options{})))
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// flushed waits until everything is written, without losses.
func (r *recorder) flushed(t *testing.T) {
	t.Helper()
	// A Flush before Start logs itself.
	ctx, cancel := context.WithTimeout(logr.NewContext(t.Context(), funcr.New(r.log.write, funcr.Options{})), 2*time.Minute)
	defer cancel()
	require.NoError(t, r.Flush(ctx), "%v", r.log.about("cause"))
}

// assertAccounts checks, after Flush, that every occurrence was written,
// counted, suppressed or lost.
func (r *recorder) assertAccounts(t *testing.T, recorded int) {
	t.Helper()
	st := r.Stats()
	sum := st.Written + st.Coalesced + st.Suppressed
	for _, n := range st.Lost {
		sum += n
	}
	assert.EqualValues(t, recorded, st.Recorded)
	assert.Equal(t, st.Recorded, sum, "%+v", st)
	assert.Zero(t, st.Pending)
}
