// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	firstSecret  = "not-a-real-token-0123456789" // of a sample, too
	secondSecret = "canary-a83e60d417"
)

// world is a namespace with a controller that works only there. The controller
// has a separate user with exactly the documented rights.
type world struct {
	*play.Stage

	user      string
	config    *rest.Config // of the user
	recorder  *suite.Recorder
	process   *rig.Process
	wasKilled bool     // the process, with the Events in its memory
	args      []string // of the process
	before    reading  // when the controller was ready
	reason    string   // of a fault whose test does not say it in its name
}

// newWorld creates a namespace named after the test, and grants the user the
// role there. No controller runs yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Stage: plane.NewStage(t)}
	w.user = w.Namespace
	var err error
	w.config, err = plane.User(w.user)
	require.NoError(t, err)
	w.putSecret(t, firstSecret)
	w.grant(t)
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
	_, err := plane.Admin.Run(t.Context(), nil, "create", "rolebinding", w.user, "--user="+w.user,
		"--clusterrole=agentrun-controller", "--namespace="+w.Namespace)
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
// read the Secret. The context that it returns is for the fault.
func (w *world) ready(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	t.Cleanup(cancel)
	require.NoError(t, w.load(ctx, 0, 2, 0))
	suite.AllEnded(t, w.Stage, 3)
	w.before = w.read(t)
	return ctx
}

// steady makes a world with a ready controller.
func steady(t *testing.T) (context.Context, *world) {
	t.Helper()
	w := newWorld(t)
	w.start(t, w.config)
	return w.ready(t), w
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
	w.idle(ctx, t)
	after := w.read(t)
	assert.Empty(t, w.recorder.Breaches())
	w.silent(ctx, t)
	after.goroutines, after.fresh = w.assertGoroutines(t)
	w.addLine(t, runs, after)
}

// requests returns the requests of the world's controller so far, in the order
// of their answers.
func (w *world) requests(t *testing.T) []controlplane.Request {
	t.Helper()
	return plane.Requests(t, func(r controlplane.Request) bool { return r.User.Username == w.user })
}

// idle waits until no write has occurred for a while, which is longer in the
// full set. The API server uses the same clock.
func (w *world) idle(ctx context.Context, t *testing.T) {
	t.Helper()
	quiet := either(15*time.Second, 2*time.Second)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		since := time.Now()
		suite.Wait(ctx, quiet)
		var written []string
		for _, r := range w.requests(t) {
			if r.Writes() && !r.At.Time.Before(since) {
				written = append(written, r.Kind()+" "+r.For.Name)
			}
		}
		require.NoError(t, ctx.Err(), "an idle object is written: %v", written) // also if the last wait was interrupted
		if len(written) == 0 {
			return
		}
	}
}

// silent searches the controller's log and metrics for the secrets.
func (w *world) silent(ctx context.Context, t *testing.T) {
	t.Helper()
	metrics, err := w.process.Metrics(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, metrics)
	assert.False(t, w.says(t, firstSecret+"|"+secondSecret), "a secret is in the log")
	assert.NotRegexp(t, firstSecret+"|"+secondSecret, fmt.Sprint(metrics))
}

// says reports whether a line of the controller's log matches a pattern.
func (w *world) says(t *testing.T, pattern string) bool {
	t.Helper()
	log, err := os.ReadFile(w.process.Log)
	require.NoError(t, err)
	require.NotEmpty(t, log)
	return regexp.MustCompile(pattern).Match(log)
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
