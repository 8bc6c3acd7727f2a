// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status"
)

// runLabel is the label of the example's Jobs.
const runLabel = "agents.controllerkit.dev/agent-run-uid"

// ledger records what an independent watcher has seen.
type ledger struct {
	mu     sync.Mutex
	phases map[string]v1alpha1.Phase         // by run
	done   int                               // the number of terminal ones
	jobs   map[string]map[types.UID]struct{} // by the run's uid
}

// watch records all runs and Jobs until the test ends.
func watch(t *testing.T, stage *play.Stage) *ledger {
	t.Helper()
	l := &ledger{phases: map[string]v1alpha1.Phase{}, jobs: map[string]map[types.UID]struct{}{}}
	runs := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return stage.Runs.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return stage.Runs.Watch(ctx, o)
		},
	}, new(v1alpha1.AgentRun), 0, nil)
	factory := informers.NewSharedInformerFactoryWithOptions(stage.Kube, 0, informers.WithNamespace(stage.Namespace))
	for _, i := range []cache.SharedIndexInformer{runs, factory.Batch().V1().Jobs().Informer()} {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: l.note, UpdateFunc: func(_, obj any) { l.note(obj) },
		})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { runs.RunWithContext(ctx) })
	factory.StartWithContext(ctx)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
		running.Wait()
	})
	require.True(t, cache.WaitForCacheSync(ctx.Done(), runs.HasSynced))
	factory.WaitForCacheSyncWithContext(ctx)
	return l
}

func (l *ledger) note(obj any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o := obj.(type) {
	case *v1alpha1.AgentRun:
		if l.phases[o.Name].Progress() != status.Done && o.Status.Phase.Progress() == status.Done {
			l.done++
		}
		l.phases[o.Name] = o.Status.Phase
	case *batchv1.Job:
		run := o.Labels[runLabel]
		if l.jobs[run] == nil {
			l.jobs[run] = map[types.UID]struct{}{}
		}
		l.jobs[run][o.UID] = struct{}{}
	}
}

// ended returns the number of terminal runs.
func (l *ledger) ended() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// known returns the number of runs.
func (l *ledger) known() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.phases)
}

// stuck names a few runs that have not ended.
func (l *ledger) stuck() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, phase := range l.phases {
		if phase.Progress() != status.Done && len(names) < 5 {
			names = append(names, fmt.Sprintf("%s is %q", name, phase))
		}
	}
	return strings.Join(names, ", ")
}

// jobsTwice returns the number of runs with more than one Job. The watch may
// miss some while a server is down.
func (l *ledger) jobsTwice() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uids := range l.jobs {
		if len(uids) > 1 {
			n++
		}
	}
	return n
}

// settle waits until every Job is released or deleted.
func settle(ctx context.Context, t *testing.T, stage *play.Stage) {
	t.Helper()
	for held := -1; held != 0; pause(ctx, 500*time.Millisecond) {
		jobs, err := stage.Kube.BatchV1().Jobs(stage.Namespace).List(ctx, metav1.ListOptions{})
		require.NoError(t, err, "%d Jobs are not let go", held)
		held = 0
		for i := range jobs.Items {
			if jobs.Items[i].Annotations["jobgc.controllerkit.dev/released"] == "" {
				held++
			}
		}
	}
}

// audit has the requests in the API server's audit log. A killed server loses
// the last few.
type audit struct {
	controller map[string]map[int]int // by verb and resource, and by status
	created    map[string]int         // Jobs by name
	bound      map[string]int         // pods that got a node, by their Job
}

// sent returns the number of requests of a kind that the controller sent; done
// returns how many of them succeeded.
func (a audit) sent(kind string) (n int) {
	for _, m := range a.controller[kind] {
		n += m
	}
	return n
}

func (a audit) done(kind string) (n int) {
	for code, m := range a.controller[kind] {
		if code < 300 {
			n += m
		}
	}
	return n
}

// twice returns the number of names that occur more than once.
func twice(names map[string]int) (n int) {
	for _, times := range names {
		if times > 1 {
			n++
		}
	}
	return n
}

func (a audit) String() string {
	var out []string
	for kind, codes := range a.controller {
		out = append(out, fmt.Sprintf("%s %d (by status %v)", kind, a.sent(kind), codes))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// audited reads the API server's audit log.
func audited(t *testing.T) audit {
	t.Helper()
	all, err := plane.Requests()
	require.NoError(t, err)
	out := audit{map[string]map[int]int{}, map[string]int{}, map[string]int{}}
	for _, r := range all {
		if r.For.Namespace != namespace {
			continue
		}
		kind, code := r.Kind(), r.Response.Code
		if r.For.Subresource == "binding" {
			if code == http.StatusCreated {
				out.bound[r.For.Name[:strings.LastIndex(r.For.Name, "-")]]++ // a pod's name is its Job's and a suffix
			}
			continue
		}
		if out.controller[kind] == nil {
			out.controller[kind] = map[int]int{}
		}
		out.controller[kind][code]++
		if kind == "create jobs" && code == http.StatusCreated {
			out.created[r.For.Name]++
		}
	}
	return out
}
