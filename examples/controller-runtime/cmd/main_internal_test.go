// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

// TestTheManagerRunsTasks runs the whole manager on a real API server, with the
// role that controller-gen generated from its markers.
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
	require.NoError(t, plane.InstallCRDs(ctx, filepath.Join("..", "config", "crd")))
	admin := newClient(t, plane.Config())
	config := asManager(ctx, t, plane, admin)
	var reads jobReads
	config.Wrap(reads.around)

	scrapes := freeAddress(ctx, t)
	options := ctrl.Options{HealthProbeBindAddress: "0", LeaderElectionID: "tasks.controllerkit.dev"}
	options.Metrics.BindAddress = scrapes
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
	require.EventuallyWithT(t, func(c *assert.CollectT) { // a reconcile is counted after its Event is recorded
		page := scrape(ctx, c, "http://"+scrapes+"/metrics/all")
		for _, series := range wanted {
			served := strings.Contains(page, "\n"+series) // the page is too long to print
			assert.True(c, served, series)
		}
	}, time.Minute, 50*time.Millisecond)
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

// asManager installs the generated role and returns the configuration of a user
// with only this role.
func asManager(ctx context.Context, t *testing.T, plane *controlplane.ControlPlane, admin client.Client) *rest.Config {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "config", "rbac", "role.yaml"))
	require.NoError(t, err)
	role := new(rbacv1.ClusterRole)
	require.NoError(t, yaml.UnmarshalStrict(body, role))
	require.NoError(t, admin.Create(ctx, role))
	require.NoError(t, admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
	}))
	config, err := plane.User(role.Name)
	require.NoError(t, err)
	return config
}

// freeAddress returns an unused address of this machine. Its port is below
// those that the system chooses, so that no other program gets it before the
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

func scrape(ctx context.Context, t require.TestingT, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(body))
	return "\n" + string(body)
}
