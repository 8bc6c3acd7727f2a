// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// latest is how late the cache of owners of the second replica is at most.
const latest = 500 * time.Millisecond

// fleet is a controller whose two replicas run as processes.
type fleet struct {
	life    func(replica int) *exec.Cmd // one life of a replica; the owners that the second sees are late
	owners  schema.GroupVersionResource
	owner   func(ttl int64) *unstructured.Unstructured            // whose Job succeeds and has this TTL
	outcome func(owner *unstructured.Unstructured) (ended string) // empty until it has ended
}

// TestGateTwoReplicas: two replicas work on the same owners, the cache of
// owners of one of them is 0 to 500 ms late, and both are killed with SIGKILL
// at random. Each Job runs once, and each owner records its success.
//
//req:shows J3 J4
func TestGateTwoReplicas(t *testing.T) {
	for name, newFleet := range map[string]func(*testing.T, *stage) fleet{"AgentRun": agentRuns, "ControllerRuntime": tasks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, s := jobsOf(t, 30), newStage(t)
			f, began := newFleet(t, s), time.Now()
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
			defer stop()
			var seen play.Jobs
			ended, err := s.Watch(ctx, func(_, is any) { seen.Change(is) })
			require.NoError(t, err)
			var both sync.WaitGroup
			kills, errs := make([]int, 2), make([]error, 2)
			for i := range kills {
				both.Go(func() { kills[i], errs[i] = killed(ctx, func() *exec.Cmd { return f.life(i) }) })
			}
			client, err := dynamic.NewForConfig(plane.Config())
			require.NoError(t, err)
			owners := client.Resource(f.owners).Namespace(s.Namespace)
			workqueue.ParallelizeUntil(ctx, 4, n, func(i int) {
				owner := f.owner([]int64{0, 1, 600}[i%3])
				owner.SetName(fmt.Sprintf("owner-%d", i))
				for ctx.Err() == nil {
					if _, err := owners.Create(ctx, owner, metav1.CreateOptions{}); err == nil || apierrors.IsAlreadyExists(err) {
						return
					}
					suite.Wait(ctx, 100*time.Millisecond)
				}
			})
			outcomes := map[string]int{}
			for done := 0; done < n; {
				suite.Wait(ctx, 200*time.Millisecond+time.Duration(n)*time.Millisecond)
				require.NoError(t, ctx.Err(), "%d of %d have ended", done, n)
				list, err := owners.List(ctx, metav1.ListOptions{})
				if err != nil {
					t.Log("the owners cannot be listed, trying again:", err)
					continue
				}
				outcomes, done = map[string]int{}, 0
				for i := range list.Items {
					if outcome := f.outcome(&list.Items[i]); outcome != "" {
						outcomes[outcome]++
						done++
					}
				}
			}
			stop()
			both.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
			ended()
			jobs, again := seen.Count()
			t.Logf("gate: %d owners with Job TTLs of 0, 1 and 600, two replicas killed %v times, owner caches 0 and 0 to 500 ms late: %v, %d Jobs, in %s",
				n, kills, outcomes, jobs, time.Since(began).Round(time.Second))
			assert.Equal(t, n, jobs)
			assert.Empty(t, again, "owners with more than one Job")
			assert.Equal(t, map[string]int{"Succeeded": n}, outcomes, "any other outcome is lost or falsely missing")
		})
	}
}

// killed runs one process after the other until ctx ends. Each dies by SIGKILL
// at a random moment.
func killed(ctx context.Context, life func() *exec.Cmd) (kills int, err error) {
	goruntime.LockOSThread() // Pdeathsig is sent when the thread ends that started the process: go.dev/issue/27505
	defer goruntime.UnlockOSThread()
	for ; ctx.Err() == nil; kills++ {
		cmd := life()
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &output, &output, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return kills, err
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			return kills, fmt.Errorf("a replica ended by itself: %w: %s", err, output.Bytes())
		case <-time.After(500*time.Millisecond + rand.N(15*time.Second)):
		case <-ctx.Done():
		}
		if err := cmd.Process.Kill(); err != nil {
			return kills, err
		}
		<-ended //nolint:errcheck // it was killed
	}
	return kills, nil
}

// agentRuns are the program of examples/agentrun.
func agentRuns(t *testing.T, s *stage) fleet {
	t.Helper()
	through := []string{plane.Kubeconfig(), lateProxy(t, "agentruns")}
	return fleet{
		life: func(replica int) *exec.Cmd {
			cmd := exec.Command(plane.Program, "--kubeconfig="+through[replica], "--namespaces="+s.Namespace, "--metrics-bind-address=127.0.0.1:0")
			cmd.Env = append(os.Environ(), "JANGAR_CONTROLLER_EVENTS_ENABLED=false")
			return cmd
		},
		owners: v1alpha1.GroupVersion().WithResource("agentruns"),
		owner: func(ttl int64) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": v1alpha1.GroupVersion().String(), "kind": "AgentRun",
				"spec": map[string]any{
					"image": "busybox:1.37", "jobTTLSecondsAfterFinished": ttl, "podAnnotations": map[string]any{kubelet.DelayAnnotation: "0s"},
				},
			}}
		},
		outcome: func(owner *unstructured.Unstructured) string {
			var run v1alpha1.AgentRun
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(owner.Object, &run))
			if !run.Status.Phase.Terminal() {
				return ""
			}
			return strings.TrimSuffix(string(run.Status.Phase)+" "+run.Status.Reason, " JobSucceeded")
		},
	}
}

// tasks are the program of examples/controller-runtime, whose Jobs have a TTL
// of 10 minutes.
func tasks(t *testing.T, s *stage) fleet {
	t.Helper()
	const example = "../../../examples/controller-runtime"
	program := filepath.Join(plane.Dir(), "task")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", example, race(), "-o", program, "./cmd").CombinedOutput()
	require.NoError(t, err, string(out))
	_, err = plane.Admin.Run(t.Context(), nil, "apply", "--server-side", "-f", example+"/config/crd")
	require.NoError(t, err)
	_, err = plane.Admin.Run(t.Context(), nil, "wait", "--for=condition=Established", "--timeout=60s", "crd/tasks.tasks.controllerkit.dev")
	require.NoError(t, err)
	through := []string{plane.Kubeconfig(), lateProxy(t, "tasks")}
	return fleet{
		life: func(replica int) *exec.Cmd {
			return exec.Command(program, "--kubeconfig="+through[replica], "--metrics-bind-address=0", "--health-probe-bind-address=0")
		},
		owners: schema.GroupVersionResource{Group: "tasks.controllerkit.dev", Version: "v1", Resource: "tasks"},
		owner: func(int64) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "tasks.controllerkit.dev/v1", "kind": "Task",
				"spec": map[string]any{"image": "busybox:1.37", "podAnnotations": map[string]any{kubelet.DelayAnnotation: "0s"}},
			}}
		},
		outcome: func(owner *unstructured.Unstructured) string {
			phase, _, _ := unstructured.NestedString(owner.Object, "status", "phase")
			if phase != "Succeeded" && phase != "Failed" {
				return ""
			}
			return phase
		},
	}
}

// lateProxy is the API server for the second replica: each watch of the owners
// is late. It returns a kubeconfig file.
func lateProxy(t *testing.T, owners string) string {
	t.Helper()
	config := plane.Config()
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // of clients that were killed
		Transport: suite.RoundTrip(func(r *http.Request) (*http.Response, error) {
			reply, err := transport.RoundTrip(r)
			if err == nil && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/"+owners) {
				reply.Body = newLagging(reply.Body, rand.N(latest))
			}
			return reply, err
		}),
	})
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(path, &rest.Config{Host: server.URL}))
	return path
}
