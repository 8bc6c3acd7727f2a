// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/metrics"
)

// watches answers informers: first with the objects that a kind has, then with
// what send sends. Anything else is an error of the test.
type watches struct {
	t       *testing.T
	objects map[string]runtime.Object // by resource
	mu      sync.Mutex
	accept  map[string]string // what an informer asked for, by resource
	send    map[string]func(watch.EventType, runtime.Object)
}

func newWatches(t *testing.T, run *v1alpha1.AgentRun, job *batchv1.Job) *watches {
	t.Helper()
	run.ResourceVersion = "100"
	run.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("AgentRun"))
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	return &watches{
		t:       t,
		objects: map[string]runtime.Object{"agentruns": run, "jobs": job},
		accept:  map[string]string{},
		send:    map[string]func(watch.EventType, runtime.Object){},
	}
}

func (w *watches) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	resource := path.Base(r.URL.Path)
	if !assert.Contains(w.t, w.objects, resource, r.URL) || !assert.Equal(w.t, "true", r.URL.Query().Get("sendInitialEvents"), r.URL) {
		return nil, http.ErrNotSupported
	}
	body, stream := io.Pipe()
	send := func(kind watch.EventType, obj runtime.Object) {
		assert.NoError(w.t, json.NewEncoder(stream).Encode(map[string]any{"type": kind, "object": obj}))
	}
	w.accept[resource], w.send[resource] = r.Header.Get("Accept"), send
	go func() {
		end := w.objects[resource].DeepCopyObject()
		end.(metav1.Object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		send(watch.Added, w.objects[resource])
		send(watch.Bookmark, end)
		<-r.Context().Done()
		_ = stream.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)},
	}}, nil
}

// following is a controller that works, with one run and its Job in its caches.
func following(t *testing.T) (*Controller, *watches, *v1alpha1.AgentRun) {
	t.Helper()
	run, job := newStarted("nightly", nil)
	return followingOf(t, run, job)
}

func followingOf(t *testing.T, run *v1alpha1.AgentRun, job *batchv1.Job) (*Controller, *watches, *v1alpha1.AgentRun) {
	t.Helper()
	run.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	job.ManagedFields = run.ManagedFields
	job.Spec.Template.Spec.RestartPolicy = "Never"
	w := newWatches(t, run, job)
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: w, QPS: -1}, m, Options{})
	require.NoError(t, err)
	var informers sync.WaitGroup
	t.Cleanup(informers.Wait) // after the test's context has ended
	informers.Go(func() { c.scopes[0].runs.RunWithContext(t.Context()) })
	informers.Go(func() { c.scopes[0].jobs.RunWithContext(t.Context()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.True(t, c.scopes[0].fill(ctx))
	require.True(t, c.follow(ctx, c.scopes[0]))
	return c, w, run
}

// A typed client asks for Protobuf. A request that is made with its RESTClient
// does not, and JSON takes more CPU time.
func TestCaches_ReadJobsAsProtobuf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, w, _ := following(t)
		assert.Equal(t, "application/vnd.kubernetes.protobuf,application/json", w.accept["jobs"])
		assert.Contains(t, w.accept["agentruns"], "application/json", "an API of a CRD has no Protobuf")
	})
}

// Nothing reads managedFields or the pod template of a Job, and there may be
// thousands of both.
func TestCaches_AreSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := following(t)
		for _, cached := range []cache.SharedIndexInformer{c.scopes[0].runs, c.scopes[0].jobs} {
			all := cached.GetStore().List()
			require.Len(t, all, 1)
			assert.Empty(t, all[0].(metav1.Object).GetManagedFields())
			if job, ok := all[0].(*batchv1.Job); ok {
				assert.Empty(t, job.Spec.Template)
				assert.NotNil(t, job.Spec.Suspend)
			}
		}
	})
}

// The copy of a status write is needed until the cache has it. Thousands of
// runs would otherwise be in memory twice.
func TestWritten_IsForgottenOnceItIsCached(t *testing.T) {
	for name, late := range map[string]bool{
		"WrittenFirst": false,
		"CachedFirst":  true, // the watch was faster than the answer
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, w, run := following(t)
				s := c.scopes[0]
				version := func() string {
					_, newest := c.find(keyOf(run))
					return newest.ResourceVersion
				}
				written := run.DeepCopy()
				written.ResourceVersion = "102"
				if !late {
					s.remember(written)
					require.Equal(t, "102", version(), "the cache is behind")
				}
				w.send["agentruns"](watch.Modified, written.DeepCopy())
				synctest.Wait()
				if late {
					s.remember(written)
				}
				require.NoError(t, s.runs.GetStore().Update(run)) // an older copy shows whether the write is still kept
				assert.Equal(t, "100", version())
			})
		})
	}
}

// oneNamespace answers informers of one namespace, as if the RoleBinding of the
// others were gone.
type oneNamespace struct {
	*watches
	namespace string
}

func (o oneNamespace) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("sendInitialEvents") && strings.Contains(r.URL.Path, "/namespaces/"+o.namespace+"/") {
		return o.watches.RoundTrip(r)
	}
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	return &http.Response{StatusCode: http.StatusForbidden, Request: r, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{
		"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)},
	}}, nil
}

// TestANamespaceThatCannotBeRead_DelaysNoOther: also not at the start.
func TestANamespaceThatCannotBeRead_DelaysNoOther(t *testing.T) {
	elected := func(ctx context.Context, reconcile func(leading, holding context.Context)) error {
		reconcile(ctx, context.WithoutCancel(ctx))
		return nil
	}
	for name, o := range map[string]Options{"Alone": {}, "Elected": {Lead: elected}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { delaysNoOther(t, o) })
		})
	}
}

func delaysNoOther(t *testing.T, o Options) {
	t.Helper()
	run, job := newStarted("nightly", nil)
	w := newWatches(t, run, job)
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	began := &counting{}
	o.Namespaces = []string{"gone", run.Namespace}
	o.Tracer = began
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: oneNamespace{w, run.Namespace}, QPS: -1}, m, o)
	require.NoError(t, err)
	var lines []string
	var mu sync.Mutex
	log := funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{})
	ctx, stop := context.WithTimeout(logr.NewContext(t.Context(), log), 15*time.Second)
	defer stop()
	_ = c.Start(ctx)
	c.started.Wait()
	assert.NotZero(t, began.n.Load(), "the run of the other namespace is reconciled")
	assert.Contains(t, strings.Join(lines, "\n"), "Failed to watch", "client-go logs what cannot be read")
	assert.False(t, c.Ready())
}
