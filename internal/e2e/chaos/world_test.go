// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// The Secret of the runs, and its values over time. They must not appear
// anywhere.
const (
	secretName   = "agent"
	secretKey    = "token"
	firstSecret  = "canary-5f1d7c2e9b"
	secondSecret = "canary-a83e60d417"
)

// role is the installed ClusterRole of the controller.
const role = "agentrun-controller"

// world is a namespace with a controller that works only there. The controller
// has a separate user with exactly the documented rights.
type world struct {
	*play.Stage

	user     string
	config   *rest.Config // of the user
	recorder *recorder
	process  *rig.Process
	args     []string    // of the process
	starts   []time.Time // of the processes after the first
}

// newWorld creates a namespace named after the test. No controller runs yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	stage, err := play.NewStage(plane.Config(), name)
	require.NoError(t, err)
	w := &world{Stage: stage, user: name, args: []string{"--namespaces=" + stage.Namespace}}
	w.config, err = plane.User(w.user)
	require.NoError(t, err)
	w.makeNamespace(t)
	w.recorder = startRecorder(t, stage, firstSecret, secondSecret)
	return w
}

// makeNamespace creates the namespace and its Secret.
func (w *world) makeNamespace(t *testing.T) {
	t.Helper()
	_, err := w.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.putSecret(t, firstSecret)
}

// putSecret sets the value of the Secret.
func (w *world) putSecret(t *testing.T, value string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName}, StringData: map[string]string{secretKey: value}}
	secrets := w.Kube.CoreV1().Secrets(w.Namespace)
	_ = secrets.Delete(t.Context(), secretName, metav1.DeleteOptions{}) // it may not exist yet
	_, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
}

// grant binds the user to a ClusterRole in the namespace.
func (w *world) grant(t *testing.T, role string) {
	t.Helper()
	_, err := w.Kube.RbacV1().RoleBindings(w.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// grantEverywhere binds the user to the role in all namespaces. This binding
// survives the deletion of the namespace.
func (w *world) grantEverywhere(t *testing.T) {
	t.Helper()
	_, err := w.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// start runs the controller against the API server or a proxy until the test
// ends.
func (w *world) start(t *testing.T, config *rest.Config, args ...string) {
	t.Helper()
	w.args = append(w.args[:1:1], args...)
	w.process = launch(t, program, config, w.args)
}

// place is the directory of the controllers' logs and kubeconfig.
func place(t *testing.T, config *rest.Config) (dir, kubeconfig string) {
	t.Helper()
	dir = filepath.Join(plane.Dir(), strings.ReplaceAll(t.Name(), "/", "-"))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	kubeconfig = filepath.Join(dir, "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, config))
	return dir, kubeconfig
}

func launch(t *testing.T, path string, config *rest.Config, args []string, env ...string) *rig.Process {
	t.Helper()
	dir, kubeconfig := place(t, config)
	p, err := rig.Start(t.Context(), path, dir, kubeconfig, env, args...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

// ready plays one run of each kind before a fault, so that the controller has
// read the Secret.
func (w *world) ready(ctx context.Context, t *testing.T) {
	t.Helper()
	require.NoError(t, load(ctx, w.Stage, 0, 2, 0))
	allEnded(ctx, t, w.Stage, 3)
}

// during creates the runs from 3 to last while a fault occurs.
func (w *world) during(ctx context.Context, t *testing.T, last int, pause time.Duration, fault func()) {
	t.Helper()
	var loading sync.WaitGroup
	var err error
	loading.Go(func() { err = load(ctx, w.Stage, 3, last, pause) })
	fault()
	loading.Wait()
	require.NoError(t, err)
}

// holds checks a world after a fault: n runs end, and all invariants hold.
func (w *world) holds(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	runs := allEnded(ctx, t, w.Stage, n)
	for _, run := range runs {
		assert.Equal(t, truth(&run), run.Status.Phase, "run %s: %s %s", run.Name, run.Status.Reason, run.Status.Message)
		assertEnded(t, &run)
	}
	w.invariants(ctx, t)
	_, _, jobs := w.recorder.read()
	for _, run := range runs {
		// The recorder misses a Job that existed only while the API server was
		// down. The end of its run shows that it ran.
		assert.LessOrEqual(t, len(jobs[run.UID]), 1, "run %s had more than one Job", run.Name)
	}
}

// invariants checks what holds for every outcome of the runs.
func (w *world) invariants(ctx context.Context, t *testing.T) {
	t.Helper()
	idle := w.idle(ctx, t)
	events, most := assertEventCap(t, w.user, w.starts...)
	breaches, versions, jobs := w.recorder.read()
	assert.Empty(t, breaches)
	w.silent(ctx, t)
	stacks := w.goroutines(t)
	t.Logf("%d versions of objects seen, %d Jobs, %d writes of events, %d about one object in a minute at most; %d goroutines are left; nothing was written for %s",
		versions, len(jobs), events, most, stacks, idle)
}

// idle waits until no write has occurred for a while, which is longer in the
// full set.
func (w *world) idle(ctx context.Context, t *testing.T) time.Duration {
	t.Helper()
	quiet := either(15*time.Second, 2*time.Second)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		since := time.Now()
		wait(ctx, quiet)
		written := writesSince(t, w.user, since)
		require.NoError(t, ctx.Err(), "an idle object is written: %v", written) // also if the last wait was interrupted
		if len(written) == 0 {
			return quiet
		}
	}
}

// silent searches the controller's log and metrics for the secrets.
func (w *world) silent(ctx context.Context, t *testing.T) {
	t.Helper()
	log, err := os.ReadFile(w.process.Log)
	require.NoError(t, err)
	require.NotEmpty(t, log)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.process.URL+"/metrics", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(metrics), "controller_reconcile")
	for _, secret := range []string{firstSecret, secondSecret} {
		for line := range strings.Lines(string(log)) {
			assert.NotContains(t, line, secret, "the controller's log")
		}
		assert.NotContains(t, string(metrics), secret, "the controller's metrics")
	}
}

// assertEnded checks what holds for every terminal run.
func assertEnded(t *testing.T, run *v1alpha1.AgentRun) {
	t.Helper()
	st := run.Status
	assert.Equal(t, run.Generation, st.ObservedGeneration, "%s: observedGeneration", run.Name)
	assert.NotNil(t, st.FinishedAt, "%s: finishedAt", run.Name)
	assert.NotNil(t, st.StartedAt, "%s: startedAt", run.Name)
	for _, c := range st.Conditions {
		is := c.Type == map[v1alpha1.Phase]string{v1alpha1.Succeeded: "Ready", v1alpha1.Failed: "Degraded"}[st.Phase]
		assert.Equal(t, is, c.Status == metav1.ConditionTrue, "%s: condition %s", run.Name, c.Type)
		assert.Equal(t, run.Generation, c.ObservedGeneration, "%s: condition %s", run.Name, c.Type)
	}
}

// assertSays waits until a line of the controller's log has all words. Other
// effects may be visible before the line.
func assertSays(t *testing.T, p *rig.Process, words ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("a line of the log says %q", words), func(context.Context) bool { return says(t, p, words...) })
}

func says(t *testing.T, p *rig.Process, words ...string) bool {
	t.Helper()
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	for line := range strings.Lines(string(log)) {
		found := 0
		for _, w := range words {
			if strings.Contains(line, w) {
				found++
			}
		}
		if found == len(words) {
			return true
		}
	}
	return false
}
