// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/eventstest"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/jobgctest"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
	"github.com/proompteng/controllerkit/status"
)

// rig is a Reconciler on fakes. It reads Jobs live.
type rig struct {
	*Reconciler

	cluster  *fake.Clientset
	recorder *eventstest.Recorder
	page     http.Handler
	mu       sync.Mutex // of what follows: several workers may send
	writes   int        // of a status
	refuse   error      // of the next write of a status
	lose     error      // instead of the answer to the next write of a status
	prunes   bool       // the API server does not keep status.message
	reads    int        // of a Secret
	unread   error      // of each read of a Secret
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	g := &rig{cluster: fake.NewClientset(), recorder: &eventstest.Recorder{Scheme: scheme}}
	c := ctrlfake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.AgentRun{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				err := g.admit()
				if err != nil {
					return err
				}
				err = c.SubResource(sub).Patch(ctx, o, p, opts...)
				if g.lose != nil {
					err = g.lose
					g.lose = nil
				}
				if g.prunes {
					run := new(v1alpha1.AgentRun)
					err = errors.Join(err, c.Get(ctx, client.ObjectKeyFromObject(o), run))
					run.Status.Message = ""
					err = errors.Join(err, c.Status().Update(ctx, run))
					reply, ok := o.(*v1alpha1.AgentRun)
					require.True(t, ok)
					*reply = *run
				}
				return err
			},
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, ok := o.(*corev1.Secret); ok {
					g.mu.Lock()
					defer g.mu.Unlock()
					g.reads++
					if g.unread != nil {
						return g.unread
					}
				}
				if job, ok := o.(*batchv1.Job); ok {
					return g.cachedJob(ctx, key, job)
				}
				return c.Get(ctx, key, o, opts...)
			},
		}).Build()
	jobgctest.GiveUIDs(g.cluster)
	guard, err := jobgc.New(g.cluster.BatchV1().Jobs, nil, jobgc.Options{})
	require.NoError(t, err)
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(endpoint, metrics.Options{IsTerminal: events.IsTerminal})
	require.NoError(t, err)
	g.page = endpoint
	measured := m.Controller("agentrun")
	g.Reconciler = &Reconciler{
		Client: c, live: c, jobs: guard, jobsIn: g.cluster.BatchV1().Jobs, events: g.recorder,
		secrets: new(redact.SecretValues), measured: measured, runs: measured.Runs(),
		writer: status.ForClient(c), noPodsAfter: 5 * time.Second,
	}
	g.writer.Owned = conditionTypes
	g.writer.Heartbeat = heartbeat
	return g
}

// cachedJob reads a Job from a cache that is up to date.
func (g *rig) cachedJob(ctx context.Context, key client.ObjectKey, into *batchv1.Job) error {
	job, err := g.cluster.BatchV1().Jobs(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	job.DeepCopyInto(into)
	return nil
}

// admit counts a write of a status, or refuses it.
func (g *rig) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	refuse := g.refuse
	if refuse == nil {
		g.writes++
		return nil
	}
	if !apierrors.IsConflict(refuse) { // a Writer tries again after a conflict
		g.refuse = nil
	}
	return refuse
}

func newRun(name string) *v1alpha1.AgentRun {
	return &v1alpha1.AgentRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Generation: 3},
		Spec:       v1alpha1.AgentRunSpec{Image: "busybox:1.37"},
	}
}

func requestOf(run *v1alpha1.AgentRun) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)}
}

// reconcile makes an attempt at a run and reads it again.
func (g *rig) reconcile(t *testing.T, run *v1alpha1.AgentRun) (time.Duration, error) {
	t.Helper()
	result, err := g.Reconcile(t.Context(), requestOf(run))
	require.NoError(t, g.Get(t.Context(), client.ObjectKeyFromObject(run), run))
	return result.RequeueAfter, err
}

// must makes an attempt that succeeds.
func (g *rig) must(t *testing.T, run *v1alpha1.AgentRun) time.Duration {
	t.Helper()
	after, err := g.reconcile(t, run)
	require.NoError(t, err)
	return after
}

// job returns the Job of a run; nil if there is none.
func (g *rig) job(t *testing.T, run *v1alpha1.AgentRun) *batchv1.Job {
	t.Helper()
	list, err := g.cluster.BatchV1().Jobs(run.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], run) {
			return &list.Items[i]
		}
	}
	return nil
}

// change changes the status of the run's Job.
func (g *rig) change(t *testing.T, run *v1alpha1.AgentRun, change func(*batchv1.JobStatus)) {
	t.Helper()
	job := g.job(t, run)
	require.NotNil(t, job)
	change(&job.Status)
	_, err := g.cluster.BatchV1().Jobs(run.Namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func starts(st *batchv1.JobStatus) {
	st.StartTime = new(metav1.Now())
	st.Active = 1
}

func withoutPods(st *batchv1.JobStatus) { st.StartTime = new(metav1.Now()) }

func ends(kind batchv1.JobConditionType, message string) func(*batchv1.JobStatus) {
	return func(st *batchv1.JobStatus) {
		st.Active = 0
		st.Conditions = append(st.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: "BackoffLimitExceeded", Message: message,
		})
	}
}

// metrics returns the page of the endpoint.
func (g *rig) metrics(t *testing.T) string {
	t.Helper()
	page := httptest.NewRecorder()
	g.page.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return page.Body.String()
}

// guardOf returns a Guard whose cache has a copy of one Job, which gets no
// event.
func guardOf(t *testing.T, cluster *fake.Clientset, job *batchv1.Job) *jobgc.Guard {
	t.Helper()
	guard, err := jobgc.New(cluster.BatchV1().Jobs, deadWatch{job}, jobgc.Options{})
	require.NoError(t, err)
	return guard
}

// deadWatch is a cache that has one Job, and gets nothing more.
type deadWatch struct{ job *batchv1.Job }

func (d deadWatch) Get(context.Context, string, string) (*batchv1.Job, error) {
	return d.job.DeepCopy(), nil
}

func (d deadWatch) List(context.Context) ([]*batchv1.Job, error) {
	return []*batchv1.Job{d.job.DeepCopy()}, nil
}
