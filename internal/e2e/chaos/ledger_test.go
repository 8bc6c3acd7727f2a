// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/samples"
	"github.com/proompteng/controllerkit/status"
)

// ledger watches what is stored in a namespace. It notes every breach of what must be true of each version, and of each step from one
// version to the next. Where the API server was gone, the versions of that time may be missing from the watch; the contract is one that
// holds over any number of steps.
type ledger struct {
	secrets []string

	mu       sync.Mutex
	breaches []string
	versions int
	jobs     map[types.UID]map[types.UID]bool // by run: every Job there ever was
	outcomes map[types.UID]v1alpha1.Phase     // by run: the first terminal phase
	phases   map[types.UID]v1alpha1.Phase     // by run: the last phase
	ends     map[types.UID]string             // by run: how its Job ended, Complete or Failed
}

// keepLedger watches until the test ends.
func keepLedger(t *testing.T, stage *samples.Stage, secrets ...string) *ledger {
	t.Helper()
	l := &ledger{
		secrets: secrets, jobs: map[types.UID]map[types.UID]bool{},
		outcomes: map[types.UID]v1alpha1.Phase{}, phases: map[types.UID]v1alpha1.Phase{}, ends: map[types.UID]string{},
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var watching sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	jobs, events := stage.Kube.BatchV1().Jobs(stage.Namespace), stage.Kube.EventsV1().Events(stage.Namespace)
	var synced []cache.InformerSynced
	for _, lw := range []*cache.ListWatch{
		{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return stage.Runs.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return stage.Runs.Watch(ctx, o)
			},
		},
		{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return jobs.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return jobs.Watch(ctx, o)
			},
		},
		{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return events.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return events.Watch(ctx, o)
			},
		},
	} {
		informer := cache.NewSharedIndexInformer(lw, nil, 0, nil)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(is any) { l.note(nil, is) },
			UpdateFunc: func(was, is any) { l.note(was, is) },
		})
		require.NoError(t, err)
		watching.Go(func() { informer.RunWithContext(ctx) })
		synced = append(synced, informer.HasSynced)
	}
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), synced...))
	return l
}

// note takes down one version.
func (l *ledger) note(was, is any) {
	object, ok := is.(metav1.Object)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.versions++
	breach := func(format string, args ...any) {
		l.breaches = append(l.breaches, fmt.Sprintf("%T %s (version %s): ", is, object.GetName(), object.GetResourceVersion())+fmt.Sprintf(format, args...))
	}
	text, err := json.Marshal(is)
	if err != nil {
		breach("%v", err)
	}
	for _, secret := range l.secrets {
		if strings.Contains(string(text), secret) {
			breach("it holds a secret: %s", text)
		}
	}
	if run, ok := is.(*v1alpha1.AgentRun); ok {
		before, ok := was.(*v1alpha1.AgentRun)
		if !ok || before.UID != run.UID {
			before = new(v1alpha1.AgentRun)
		}
		for _, broken := range status.Check(before.Status.Stamp, run.Status.Stamp, run.Generation) {
			breach("%v", broken)
		}
		if first := l.outcomes[run.UID]; first != "" && run.Status.Phase != first {
			breach("it ended as %s, and is %s now", first, run.Status.Phase)
		}
		l.phases[run.UID] = run.Status.Phase
		if run.Status.Phase.Progress() == status.Done {
			l.outcomes[run.UID] = run.Status.Phase
		}
		return
	}
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "AgentRun" {
		if l.jobs[owner.UID] == nil {
			l.jobs[owner.UID] = map[types.UID]bool{}
		}
		l.jobs[owner.UID][object.GetUID()] = true
		if len(l.jobs[owner.UID]) > 1 {
			breach("it is not the only Job of run %s", owner.Name)
		}
		if job, ok := is.(*batchv1.Job); ok {
			for _, c := range job.Status.Conditions {
				if end := string(c.Type); c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
					l.ends[owner.UID] = end
				}
			}
		}
	}
}

// phase is the last one that was seen of a run.
func (l *ledger) phase(run types.UID) v1alpha1.Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phases[run]
}

// end is how a run's Job was seen to end; empty if it was not.
func (l *ledger) end(run types.UID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[run]
}

// read returns what was noted so far.
func (l *ledger) read() (breaches []string, versions int, jobs map[types.UID]map[types.UID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs = map[types.UID]map[types.UID]bool{}
	for run, uids := range l.jobs {
		jobs[run] = maps.Clone(uids) // the watch goes on
	}
	return slices.Clone(l.breaches), l.versions, jobs
}
