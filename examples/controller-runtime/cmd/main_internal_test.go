// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

// TestTheManagerRunsTasks installs config on a real API server and runs the
// whole manager with the rights of its service account.
//
//req:shows A2
func TestTheManagerRunsTasks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	plane, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			plane.Keep()
		}
		assert.NoError(t, plane.Stop())
	})
	install(ctx, t, plane)
	admin := newClient(t, plane.Config())
	config, err := plane.User("system:serviceaccount:task-system:task-manager")
	require.NoError(t, err)
	var reads jobReads
	config.Wrap(reads.around)

	options := ctrl.Options{LeaderElection: true, LeaderElectionNamespace: "task-system", LeaderElectionID: "tasks.controllerkit.dev"}
	options.HealthProbeBindAddress = freeAddress(ctx, t)
	options.Metrics.BindAddress = freeAddress(ctx, t)
	options.Metrics.SecureServing = true
	options.Controller.SkipNameValidation = new(true) // this test may run twice in one process
	ctrl.SetLogger(logr.Discard())
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(running, config, options) }()
	until := func(task *v1.Task, done func() bool) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			require.NoError(c, admin.Get(ctx, client.ObjectKeyFromObject(task), task))
			require.True(c, done(), "%+v", task.Status)
		}, time.Minute, 50*time.Millisecond)
	}

	succeeds := newTask(ctx, t, admin, "succeeds", nil)
	until(succeeds, func() bool { return succeeds.Status.Phase == v1.Succeeded })
	assert.Equal(t, int64(1), succeeds.Status.ObservedGeneration)
	assert.NotNil(t, succeeds.Status.StartedAt)
	assert.NotNil(t, succeeds.Status.FinishedAt)
	assert.Equal(t, metav1.ConditionTrue, succeeds.Status.Conditions[0].Status)
	job := new(batchv1.Job)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, admin.Get(ctx, client.ObjectKey{Namespace: succeeds.Namespace, Name: succeeds.Status.Job.Name}, job))
		require.NotNil(c, job.Spec.TTLSecondsAfterFinished)
		assert.InDelta(c, 600, *job.Spec.TTLSecondsAfterFinished, 120, "from the release on")
	}, time.Minute, 50*time.Millisecond)
	assert.Zero(t, reads.Load(), "The manager's cache is enough until a Job is gone.")

	lost := newTask(ctx, t, admin, "lost", map[string]string{kubelet.OutcomeAnnotation: kubelet.Never})
	until(lost, func() bool { return lost.Status.Phase == v1.Running })
	job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: lost.Namespace, Name: lost.Status.Job.Name}}
	require.NoError(t, admin.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	until(lost, func() bool { return lost.Status.Phase == v1.Failed })
	assert.Equal(t, "JobLost", lost.Status.Conditions[0].Reason)
	assert.Positive(t, reads.Load(), "A live read confirms the loss.")

	refused := newTask(ctx, t, admin, "refused", map[string]string{"no key": ""}) // the CRD accepts it, Jobs do not
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		seen := map[string]string{}
		var list eventsv1.EventList
		require.NoError(c, admin.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault)))
		for _, e := range list.Items {
			if e.Regarding.Kind == "Task" {
				assert.Equal(c, "tasks.controllerkit.dev/task", e.ReportingController)
				seen[e.Regarding.Name+" "+e.Reason] = e.Type
			}
		}
		assert.Equal(c, map[string]string{"lost JobLost": corev1.EventTypeWarning, "refused InvalidSpec": corev1.EventTypeWarning}, seen)
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, admin.Delete(ctx, refused))

	wanted := []string{
		`controller_reconciles_total{controller="task",result="success"} `,
		`controller_reconciles_total{controller="task",result="terminal_error"} `,
		`controller_status_writes_total{controller="task",result="written"} `,
		`controller_missing_jobs_total{controller="task"} 1`,
		`controller_events_total{controller="task",result="emitted"} `,
		`controller_client_request_duration_seconds_count{code="2xx",group="tasks.controllerkit.dev",resource="tasks/status",verb="patch"} `,
		`controller_runtime_reconcile_total{controller="task",result="success"} `,
		`controller_leader{lease="tasks.controllerkit.dev"} 1`,
	}
	prometheus := readerOfMetrics(ctx, t, plane.Config(), options.Metrics.BindAddress)
	require.EventuallyWithT(t, func(c *assert.CollectT) { // a reconcile is counted after its Event is recorded
		code, page := prometheus.get(ctx, c, "/metrics/all")
		require.Equal(c, http.StatusOK, code, page)
		for _, series := range wanted {
			served := strings.Contains("\n"+page, "\n"+series) // the page is too long to print
			assert.True(c, served, series)
		}
	}, time.Minute, 50*time.Millisecond)
	refusesOthers(ctx, t, prometheus)
	resp, err := http.Get("http://" + options.HealthProbeBindAddress + "/readyz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	stop()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-ctx.Done():
		assert.Fail(t, "the manager does not end")
	}
}

// jobReads counts how often a single Job is read from the API server.
type jobReads struct{ atomic.Int64 }

func (n *jobReads) around(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/jobs/") {
			n.Add(1)
		}
		return next.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newTask(ctx context.Context, t *testing.T, c client.Client, name string, annotations map[string]string) *v1.Task {
	t.Helper()
	task := &v1.Task{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       v1.TaskSpec{Image: "busybox", PodAnnotations: annotations},
	}
	require.NoError(t, c.Create(ctx, task))
	return task
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return c
}

// freeAddress returns an unused address of this machine. Its port is below the
// ports that the system chooses, so that no other program gets it before the
// manager listens.
func freeAddress(ctx context.Context, t *testing.T) (address string) {
	t.Helper()
	for range 100 {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000)))
		if err == nil {
			require.NoError(t, l.Close())
			return l.Addr().String()
		}
	}
	require.Fail(t, "no port is free")
	return ""
}
