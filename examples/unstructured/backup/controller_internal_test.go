// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
	"github.com/proompteng/controllerkit/status"
)

func newBackup() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "backups.example.org/v1", "kind": "Backup",
		"metadata": map[string]any{"namespace": "default", "name": "nightly", "uid": "1", "generation": int64(3), "resourceVersion": "1"},
		"spec":     map[string]any{"image": "example.com/backup:1"},
	}}
}

// world is the controller on fakes of the API server.
type world struct {
	dyn      *dynamicfake.FakeDynamicClient
	cs       *fake.Clientset
	page     http.Handler
	refusals atomic.Int32 // of the next patches of Backups
	version  atomic.Int32 // of the last patch
}

// patch applies a merge patch as a new version of the Backup. The fake would
// keep the version, and the Writer could not distinguish its own write from an
// older copy.
func (w *world) patch(a clienttesting.Action) (bool, runtime.Object, error) {
	action, ok := a.(clienttesting.PatchActionImpl)
	if !ok {
		return false, nil, nil
	}
	var patch map[string]any
	err := json.Unmarshal(action.Patch, &patch)
	if err != nil {
		return true, nil, err
	}
	version := strconv.Itoa(int(w.version.Add(1)) + 100)
	err = unstructured.SetNestedField(patch, version, "metadata", "resourceVersion")
	if err != nil {
		return true, nil, err
	}
	action.Patch, err = json.Marshal(patch)
	if err != nil {
		return true, nil, err
	}
	return clienttesting.ObjectReaction(w.dyn.Tracker())(action)
}

// watching returns a channel that is closed when the first watch has begun. The
// fake records a watch before that.
func watching(fake interface {
	PrependWatchReactor(resource string, reaction clienttesting.WatchReactionFunc)
	Tracker() clienttesting.ObjectTracker
},
) <-chan struct{} {
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	fake.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		events, err := fake.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begin()
		return true, events, err
	})
	return begun
}

// start runs the controller until the test ends, and creates a Backup. The fake
// API server gives Jobs a uid, as the real one does. It does not replay what
// happens between an informer's list and its watch: the Backup comes later.
func start(t *testing.T) *world {
	t.Helper()
	w := &world{
		dyn: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{backups: "BackupList"}),
		cs:  fake.NewClientset(),
	}
	w.cs.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		a.(clienttesting.CreateAction).GetObject().(*batchv1.Job).UID = "job-1"
		return false, nil, nil
	})
	w.dyn.PrependReactor("patch", "backups", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if w.refusals.Add(-1) >= 0 {
			return true, nil, errors.New("the API server does not answer")
		}
		return w.patch(a)
	})
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	w.page = endpoint
	m, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	c, err := New(w.dyn, w.cs, w.cs, m)
	require.NoError(t, err)
	watchesBackups, watchesJobs := watching(w.dyn), watching(w.cs)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	<-watchesBackups
	<-watchesJobs
	_, err = w.dyn.Resource(backups).Namespace("default").Create(t.Context(), newBackup(), metav1.CreateOptions{})
	require.NoError(t, err)
	return w
}

// until waits until the Backup is in a phase, and returns its status.
func (w *world) until(t *testing.T, phase string) map[string]any {
	t.Helper()
	var u *unstructured.Unstructured
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var err error
		u, err = w.dyn.Resource(backups).Namespace("default").Get(t.Context(), "nightly", metav1.GetOptions{})
		require.NoError(c, err)
		require.Equal(c, phase, phaseOf(u))
		require.NotEmpty(c, refOf(u).UID)
	}, time.Minute, 100*time.Millisecond)
	return u.Object["status"].(map[string]any)
}

func (w *world) job(t *testing.T) *batchv1.Job {
	t.Helper()
	list, err := w.cs.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	return &list.Items[0]
}

//req:shows A2
func TestBackup_KeepsItsOwnFieldNames(t *testing.T) {
	w := start(t)
	w.until(t, created)
	began := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	job := w.job(t)
	assert.LessOrEqual(t, len(job.Name), 63)
	job.Status.StartTime = &began
	job.Status.Active = 1
	_, err := w.cs.BatchV1().Jobs("default").UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.until(t, inProgress)

	ended := metav1.NewTime(began.Add(time.Hour))
	job.Status = batchv1.JobStatus{
		StartTime: &began, CompletionTime: &ended, Succeeded: 1,
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: ended}},
	}
	_, err = w.cs.BatchV1().Jobs("default").UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"phase": completed, "observedGeneration": int64(3), "startTime": "2026-01-02T03:04:05Z", "completionTime": "2026-01-02T04:04:05Z",
		"job": map[string]any{"name": job.Name, "uid": "job-1"},
	}, w.until(t, completed))

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		body := httptest.NewRecorder()
		w.page.ServeHTTP(body, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		assert.Contains(c, body.Body.String(), "\n"+`controller_reconciles_total{controller="backup",result="success"} `)
		assert.Contains(c, body.Body.String(), "\n"+`controller_status_writes_total{controller="backup",result="written"} 3`+"\n", "uid, start, end")
		assert.Contains(c, body.Body.String(), "\n"+`controller_cache_age_seconds{resource="backups"} `, "the fake gives Jobs no version")
		patched := false
		for _, a := range w.cs.Actions() {
			if p, ok := a.(clienttesting.PatchAction); ok && a.Matches("patch", "jobs") {
				patched = patched || p.GetPatchType() == types.JSONPatchType
			}
		}
		assert.True(c, patched, "released")
	}, time.Minute, 100*time.Millisecond)
}

func TestBackup_FailsWhenItsJobIsDeleted(t *testing.T) {
	w := start(t)
	w.until(t, created)
	w.refusals.Store(3)
	require.NoError(t, w.cs.BatchV1().Jobs("default").Delete(t.Context(), w.job(t).Name, metav1.DeleteOptions{}))
	assert.Contains(t, w.until(t, failed)["message"], "the Job is lost")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := w.cs.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		var lost []eventsv1.Event
		for _, e := range list.Items {
			if e.Reason == "JobLost" {
				lost = append(lost, e)
			}
		}
		require.Len(c, lost, 1)
		assert.Equal(c, "Backup", lost[0].Regarding.Kind)
		body := httptest.NewRecorder()
		w.page.ServeHTTP(body, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		assert.Contains(c, body.Body.String(), "\n"+`controller_missing_jobs_total{controller="backup"} 1`+"\n", "not at each attempt to record it")
	}, time.Minute, 100*time.Millisecond)
}

// TestALossThatIsMerged: another client labels the Backup between the read and
// the write of the loss.
func TestALossThatIsMerged_IsReported(t *testing.T) {
	w := start(t)
	w.until(t, created)
	var once atomic.Bool
	w.dyn.PrependReactor("patch", "backups", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if once.CompareAndSwap(false, true) {
			u, err := w.dyn.Tracker().Get(backups, "default", "nightly")
			require.NoError(t, err)
			u = u.DeepCopyObject()
			u.(metav1.Object).SetLabels(map[string]string{"team": "a"})
			u.(metav1.Object).SetResourceVersion("77")
			require.NoError(t, w.dyn.Tracker().Update(backups, u, "default"))
			return true, nil, apierrors.NewConflict(backups.GroupResource(), "nightly", nil)
		}
		return false, nil, nil
	})
	require.NoError(t, w.cs.BatchV1().Jobs("default").Delete(t.Context(), w.job(t).Name, metav1.DeleteOptions{}))
	w.until(t, failed)
	require.True(t, once.Load())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		body := httptest.NewRecorder()
		w.page.ServeHTTP(body, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		assert.Contains(c, body.Body.String(), "\n"+`controller_missing_jobs_total{controller="backup"} 1`+"\n")
		list, err := w.cs.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		assert.Len(c, list.Items, 1, "it is written after it is counted")
	}, time.Minute, 100*time.Millisecond)
}

// newStill returns a controller that is not started, on fakes. Its cache has
// one Backup that runs and has no observedGeneration yet.
func newStill(t *testing.T, dyn *dynamicfake.FakeDynamicClient) *Controller {
	t.Helper()
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	cluster := fake.NewClientset()
	c, err := New(dyn, cluster, cluster, m)
	require.NoError(t, err)
	running := newBackup()
	require.NoError(t, enter(running, inProgress, ""))
	require.NoError(t, keep(running, jobgc.Ref{Name: "run-1", UID: "job-1"}))
	require.NoError(t, c.stored.Add(running))
	t.Cleanup(c.queue.ShutDown)
	return c
}

// TestABackupThatIsGone_DoesNotFail: it is reconciled once more.
func TestABackupThatIsGone_DoesNotFail(t *testing.T) {
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{backups: "BackupList"})
	c := newStill(t, dyn)
	gone := newBackup()
	require.NoError(t, c.stored.Delete(gone))
	c.enqueue(cache.DeletedFinalStateUnknown{Key: "default/nightly", Obj: gone})
	require.Equal(t, 1, c.queue.Len())
	key, _ := c.queue.Get()
	after, err := c.measured(t.Context(), key)
	require.NoError(t, err)
	assert.Zero(t, after)
}

func TestAWriteThatFails_IsLogged(t *testing.T) {
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{backups: "BackupList"})
	dyn.PrependReactor("patch", "backups", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(backups.GroupResource(), "nightly", nil)
	})
	c := newStill(t, dyn)
	var log string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { log += line }, funcr.Options{}))
	_, err := c.measured(ctx, types.NamespacedName{Namespace: "default", Name: "nightly"})
	require.True(t, apierrors.IsForbidden(err))
	assert.Contains(t, log, "is forbidden")
}

// TestAReconcile_ReadsItsCache: a Backup at rest costs no request, and the
// cached object does not change.
func TestAReconcile_ReadsItsCache(t *testing.T) {
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{backups: "BackupList"})
	c := newStill(t, dyn)
	assert.False(t, c.Synced(), "no informer has started")
	going := newBackup()
	now := metav1.Now()
	going.SetDeletionTimestamp(&now)
	require.NoError(t, c.stored.Update(going))
	_, err := c.measured(t.Context(), types.NamespacedName{Namespace: "default", Name: "nightly"})
	require.NoError(t, err)
	_, err = c.measured(t.Context(), types.NamespacedName{Namespace: "default", Name: "gone"})
	require.NoError(t, err)
	assert.Empty(t, dyn.Actions())
	assert.NotContains(t, going.Object, "status")
}

// A lost race is tried again and is not a failure: no error is logged, and no
// Event is written.
func TestALostRace_IsNoFailure(t *testing.T) {
	for _, race := range []error{status.ErrStaleRead, status.ErrSuperseded, status.ErrReplaced, status.ErrFieldConflict} {
		dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{backups: "BackupList"})
		dyn.PrependReactor("patch", "backups", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, race })
		c := newStill(t, dyn)
		var log string
		ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { log += line }, funcr.Options{}))
		after, err := c.measured(ctx, types.NamespacedName{Namespace: "default", Name: "nightly"})
		require.NoError(t, err)
		assert.Equal(t, staleDelay, after, "the queue tries it again")
		assert.Empty(t, log)
	}
}
