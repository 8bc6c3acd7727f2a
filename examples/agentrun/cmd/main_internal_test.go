// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

// TestTheManagerRunsAgentRuns installs the CRD and the roles on a real API
// server and runs the whole manager with exactly these rights.
//
//req:shows A1 A2
func TestTheManagerRunsAgentRuns(t *testing.T) {
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
	require.NoError(t, plane.InstallCRDs(ctx, filepath.Join("..", "crd")))
	for _, role := range [][]byte{rbac.YAML(), rbac.LeaderYAML()} {
		apply := exec.CommandContext(ctx, plane.Kubectl(), "apply", "-f", "-")
		apply.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "KUBECACHEDIR="+t.TempDir())
		apply.Stdin = bytes.NewReader(role)
		out, err := apply.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	admin := newClient(t, plane.Config())
	config, err := plane.User("agentrun-controller")
	require.NoError(t, err)
	kubeconfig(t, config)

	f := flags{reconcile: true, namespaces: metav1.NamespaceDefault}
	f.manager.LeaderElection = true
	f.manager.LeaderElectionID = "agentrun"
	f.manager.LeaderElectionNamespace = metav1.NamespaceDefault
	f.address = freeAddress(ctx, t)
	f.manager.Controller.SkipNameValidation = new(true) // this test may run twice in one process
	ctrl.SetLogger(logr.Discard())
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(running, f, environ()) }()
	until := func(run *v1alpha1.AgentRun, done func() bool) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			require.NoError(c, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
			require.True(c, done(), "%+v", run.Status)
		}, time.Minute, 50*time.Millisecond)
	}

	succeeds := newRun(ctx, t, admin, "succeeds", nil)
	until(succeeds, func() bool { return succeeds.Status.Phase == v1alpha1.Succeeded })
	assert.Equal(t, int64(1), succeeds.Status.ObservedGeneration)
	assert.NotNil(t, succeeds.Status.StartedAt)
	assert.NotNil(t, succeeds.Status.FinishedAt)
	job := new(batchv1.Job)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, admin.Get(ctx, client.ObjectKey{Namespace: succeeds.Namespace, Name: succeeds.Status.JobRef.Name}, job))
		require.NotNil(c, job.Spec.TTLSecondsAfterFinished)
		assert.InDelta(c, 600, *job.Spec.TTLSecondsAfterFinished, 120, "from the release on")
	}, time.Minute, 50*time.Millisecond)

	lost := newRun(ctx, t, admin, "lost", map[string]string{kubelet.OutcomeAnnotation: kubelet.Never})
	until(lost, func() bool { return lost.Status.Phase == v1alpha1.Running })
	job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: lost.Namespace, Name: lost.Status.JobRef.Name}}
	require.NoError(t, admin.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	until(lost, func() bool { return lost.Status.Reason == "WorkflowJobMissing" })

	newRun(ctx, t, admin, "refused", map[string]string{"no key": ""}) // the CRD accepts it, Jobs do not
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		seen := map[string]string{}
		var list eventsv1.EventList
		require.NoError(c, admin.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault)))
		for _, e := range list.Items {
			if e.Regarding.Kind == "AgentRun" {
				assert.Equal(c, "agents.controllerkit.dev/agentrun", e.ReportingController)
				seen[e.Regarding.Name+" "+e.Reason] = e.Type
			}
		}
		assert.Equal(c, map[string]string{"lost WorkflowJobMissing": corev1.EventTypeWarning, "refused InvalidSpec": corev1.EventTypeWarning}, seen)
	}, time.Minute, 50*time.Millisecond)

	wanted := []string{
		`controller_reconciles_total{controller="agentrun",result="success"} `,
		`controller_runs_total{controller="agentrun",result="terminal_error"} 2`, // refused never started
		`controller_status_writes_total{controller="agentrun",result="written"} `,
		`controller_missing_jobs_total{controller="agentrun"} 1`,
		`controller_events_total{controller="agentrun",result="emitted"} `,
		`controller_client_request_duration_seconds_count{code="2xx",group="agents.controllerkit.dev",resource="agentruns/status",verb="patch"} `,
		`controller_runtime_reconcile_total{controller="agentrun",result="success"} `,
		`controller_objects{condition="Ready",kind="AgentRun",status="True"} 1`,
		`controller_leader{lease="agentrun"} 1`,
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) { // a reconcile is counted after its Event is recorded
		page := get(ctx, c, "http://"+f.address+"/metrics")
		for _, series := range wanted {
			served := strings.Contains("\n"+page, "\n"+series) // the page is too long to print
			assert.True(c, served, series)
		}
	}, time.Minute, 50*time.Millisecond)
	get(ctx, t, "http://"+f.address+"/readyz")
	stop()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-ctx.Done():
		assert.Fail(t, "the manager does not end")
	}
}

// TestServe_NeedsNoClusterToServe: the chart's control plane has no token.
func TestServe_NeedsNoClusterToServe(t *testing.T) {
	t.Setenv("KUBECONFIG", "does/not/exist")
	var f flags
	f.address = freeAddress(t.Context(), t)
	ctrl.SetLogger(logr.Discard())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, f, environ()) }()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			page := get(ctx, c, "http://"+f.address+path)
			assert.NotContains(c, page, "controller_reconciles_total", "the process has no controller")
		}, time.Minute, 10*time.Millisecond)
	}
	stop()
	require.NoError(t, <-ended)
}

// TestOptions_NamesAllMistakes in one error.
//
//req:shows E4
func TestOptions_NamesAllMistakes(t *testing.T) {
	f := flags{selector: "shard in a", namespaces: "ok,A_B,", noPodsAfter: -time.Second}
	_, err := f.options(environ(
		"JANGAR_CONTROLLER_EVENTS_ENABLED=maybe", "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN=0", "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=30d",
	))
	for _, want := range []string{
		"JANGAR_CONTROLLER_EVENTS_ENABLED", "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN", "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS", "30d",
		"--selector", "--namespaces: \"A_B\" is not a namespace", "--namespaces: \"\" is not a namespace", "--no-pods-after: -1s is not accepted",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = flags{}.options(environ())
	require.NoError(t, err)
}

func TestSynced_FailsUntilTheCacheHasRead(t *testing.T) {
	for has, want := range map[bool]string{false: "the caches have not synced", true: ""} {
		check := synced(&informertest.FakeInformers{Synced: new(has)})
		err := check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
}

func environ(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			n, value, _ := strings.Cut(pair, "=")
			if n == name {
				return value, true
			}
		}
		return "", false
	}
}

func get(ctx context.Context, t require.TestingT, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode, url)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

func newRun(ctx context.Context, t *testing.T, c client.Client, name string, annotations map[string]string) *v1alpha1.AgentRun {
	t.Helper()
	run := &v1alpha1.AgentRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       v1alpha1.AgentRunSpec{Image: "busybox", PodAnnotations: annotations},
	}
	require.NoError(t, c.Create(ctx, run))
	return run
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
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
