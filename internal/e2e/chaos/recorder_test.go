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
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status"
)

// recorder watches the objects of a namespace. It records every version, and
// every step from one version to the next, that breaks the contract. The watch
// may miss versions while the API server is down. The contract holds over any
// number of steps.
type recorder struct {
	secrets []string

	mu       sync.Mutex
	breaches []string
	versions int
	jobs     map[types.UID]map[types.UID]bool // by run: all its Jobs
	outcomes map[types.UID]v1alpha1.Phase     // by run: the first terminal phase
	phases   map[types.UID]v1alpha1.Phase     // by run: the last phase
	ends     map[types.UID]string             // by run: how its Job ended, Complete or Failed
}

// startRecorder watches until the test ends.
func startRecorder(t *testing.T, stage *play.Stage, secrets ...string) *recorder {
	t.Helper()
	l := &recorder{
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

// note records one version.
func (l *recorder) note(was, is any) {
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

// phase returns the last phase of a run.
func (l *recorder) phase(run types.UID) v1alpha1.Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phases[run]
}

// end returns how the Job of a run ended, or "" if that was not seen.
func (l *recorder) end(run types.UID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[run]
}

// read returns the records so far.
func (l *recorder) read() (breaches []string, versions int, jobs map[types.UID]map[types.UID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs = map[types.UID]map[types.UID]bool{}
	for run, uids := range l.jobs {
		jobs[run] = maps.Clone(uids) // the watch continues
	}
	return slices.Clone(l.breaches), l.versions, jobs
}
