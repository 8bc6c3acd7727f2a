// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
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
	recorder *suite.Recorder
	process  *rig.Process
	args     []string    // of the process
	starts   []time.Time // of the processes after the first
	before   reading     // when the controller was ready
	reason   string      // of a fault whose test does not say it in its name
}

// newWorld creates a namespace named after the test. No controller runs yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Stage: plane.NewStage(t)}
	w.user = w.Namespace
	var err error
	w.config, err = plane.User(w.user)
	require.NoError(t, err)
	w.putSecret(t, firstSecret)
	w.recorder = suite.Record(t, w.Stage, firstSecret, secondSecret)
	return w
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

// grant gives the user the role in the namespace.
func (w *world) grant(t *testing.T) {
	t.Helper()
	w.bind(t, "rolebinding", "--clusterrole="+role, "--namespace="+w.Namespace)
}

// bind creates a binding of the user with kubectl.
func (w *world) bind(t *testing.T, kind string, flags ...string) {
	t.Helper()
	_, err := plane.Admin.Run(t.Context(), nil, append([]string{"create", kind, w.user, "--user=" + w.user}, flags...)...)
	require.NoError(t, err)
}

// start runs the controller against the API server or a proxy until the test
// ends.
func (w *world) start(t *testing.T, config *rest.Config, args ...string) {
	t.Helper()
	w.args = args
	w.process = plane.Start(t, w.Stage, suite.Controller{User: config, Args: args})
}

// breakServer kills a server of the control plane and starts it again some time
// later.
func breakServer(ctx context.Context, t *testing.T, server *controlplane.Process, pause time.Duration) {
	t.Helper()
	require.NoError(t, server.Kill())
	suite.Wait(ctx, pause)
	require.NoError(t, server.Start(ctx))
}

// newRun returns the i-th run of a load. Every second one needs the Secret.
func newRun(i int) *v1alpha1.AgentRun {
	run := play.NewLoad("run", i)
	if i%2 == 0 {
		run.Spec.SecretRef = &v1alpha1.SecretRef{Name: secretName, Key: secretKey}
	}
	return run
}

// load creates the runs from first to last, with a pause after each.
func (w *world) load(ctx context.Context, first, last int, pause time.Duration) error {
	for i := first; i <= last; i++ {
		if _, err := suite.Create(ctx, w.Stage, newRun(i)); err != nil {
			return err
		}
		suite.Wait(ctx, pause)
	}
	return nil
}

// ready plays one run of each kind before a fault, so that the controller has
// read the Secret. The context that it returns ends after a limit.
func (w *world) ready(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	require.NoError(t, w.load(ctx, 0, 2, 0))
	suite.AllEnded(t, w.Stage, 3)
	w.before = w.read(t)
	return ctx
}

// steady makes a world with a ready controller.
func steady(t *testing.T, limit time.Duration) (context.Context, *world) {
	t.Helper()
	w := newWorld(t)
	w.grant(t)
	w.start(t, w.config)
	return w.ready(t, limit), w
}

// during creates the runs from 3 to last while a fault occurs.
func (w *world) during(ctx context.Context, t *testing.T, last int, pause time.Duration, fault func()) {
	t.Helper()
	var loading sync.WaitGroup
	var err error
	loading.Go(func() { err = w.load(ctx, 3, last, pause) })
	fault()
	loading.Wait()
	require.NoError(t, err)
}

// holds checks a world after a fault: n runs end, and all invariants hold. It
// adds the fault to the table.
func (w *world) holds(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	runs := suite.AllEnded(t, w.Stage, n)
	for _, run := range runs {
		suite.AssertLoad(t, &run)
	}
	after := w.invariants(ctx, t)
	w.addLine(t, runs, after)
}

// invariants checks what holds for every outcome of the runs. It returns what
// the controller took in the end.
func (w *world) invariants(ctx context.Context, t *testing.T) reading {
	t.Helper()
	idle := w.idle(ctx, t)
	after := w.read(t)
	events, most := w.assertEventCap(t)
	breaches, versions := w.recorder.Breaches()
	assert.Empty(t, breaches)
	w.silent(ctx, t)
	after.goroutines, after.fresh = w.assertGoroutines(t)
	_, _, jobs := w.recorder.Count()
	t.Logf("%d versions of objects seen, %d Jobs, %d writes of events, %d about one object in a minute at most; %d goroutines are left; nothing was written for %s",
		versions, jobs, events, most, after.goroutines, idle)
	return after
}

// requests returns the requests of the world's controller so far, in the order
// of their answers.
func (w *world) requests(t *testing.T) []controlplane.Request {
	t.Helper()
	return plane.Requests(t, func(r controlplane.Request) bool { return r.User.Username == w.user })
}

// perMinute is the default of events.Options.
const perMinute = 5

// assertEventCap compares the Events of each object with the cap, in every
// window of 60 seconds. The cap is per process. It returns the highest number
// of Events about one object in 60 seconds, over all processes.
func (w *world) assertEventCap(t *testing.T) (written, most int) {
	t.Helper()
	about := map[string]types.UID{} // by the event's name
	times := map[types.UID][]time.Time{}
	for _, r := range w.requests(t) {
		if r.For.Resource != "events" || !r.Writes() || !r.Done() {
			continue
		}
		name := r.For.Name
		if r.Verb == "create" {
			var event struct {
				Metadata                  struct{ Name string }
				Regarding, InvolvedObject struct{ UID types.UID } // of events.k8s.io, and of the core group
			}
			require.NoError(t, json.Unmarshal(r.Body, &event))
			name = event.Metadata.Name
			about[name] = cmp.Or(event.Regarding.UID, event.InvolvedObject.UID)
		}
		times[about[name]] = append(times[about[name]], r.At.Time)
		written++
	}
	for uid, at := range times {
		slices.SortFunc(at, time.Time.Compare)
		for i := range at {
			first := slices.IndexFunc(at, func(other time.Time) bool { return at[i].Sub(other) < 60*time.Second })
			most = max(most, i+1-first)
			if i-first < perMinute {
				continue
			}
			among := slices.ContainsFunc(w.starts, func(s time.Time) bool { return s.After(at[i-perMinute]) && !s.After(at[i]) })
			assert.True(t, among, "more than %d events about %s within 60 s: %v", perMinute, uid, at)
		}
	}
	return written, most
}

// idle waits until no write has occurred for a while, which is longer in the
// full set. A leader renews its lease all the time. The API server uses the
// same clock.
func (w *world) idle(ctx context.Context, t *testing.T) time.Duration {
	t.Helper()
	quiet := either(15*time.Second, 2*time.Second)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		since := time.Now()
		suite.Wait(ctx, quiet)
		var written []string
		for _, r := range w.requests(t) {
			counts := r.Writes() && r.For.Resource != "leases"
			if counts && !r.At.Time.Before(since) {
				written = append(written, r.Kind()+" "+r.For.Name)
			}
		}
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

// spare is how many goroutines a controller may have above a fresh one, for
// connections that stay open for a while.
const spare = 6

// assertGoroutines ends the controller and compares the number of its
// goroutines with a fresh controller's, which has the same flags. The example's
// metrics do not count them, and threads do not show them. The Go runtime lists
// them on SIGQUIT.
func (w *world) assertGoroutines(t *testing.T) (left, fresh int) {
	t.Helper()
	dump := func() int {
		stacks, err := w.process.Dump(t.Context())
		require.NoError(t, err)
		return strings.Count(stacks, "\ngoroutine ")
	}
	left = dump()
	w.start(t, w.config, w.args...)
	suite.Wait(t.Context(), 2*time.Second) // until it has started everything
	fresh = dump()
	assert.LessOrEqual(t, left, fresh+spare, "the last two dumps in %s show which goroutines are too many", w.process.Log)
	return left, fresh
}

// assertSays waits until a line of the controller's log has all words. Other
// effects may be visible before the line.
func (w *world) assertSays(t *testing.T, words ...string) {
	t.Helper()
	suite.Eventually(t, "the log says "+strings.Join(words, ", "), func(context.Context) bool { return w.says(t, words...) })
}

func (w *world) says(t *testing.T, words ...string) bool {
	t.Helper()
	log, err := os.ReadFile(w.process.Log)
	require.NoError(t, err)
lines:
	for line := range strings.Lines(string(log)) {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue lines
			}
		}
		return true
	}
	return false
}
