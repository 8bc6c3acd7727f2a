// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"maps"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// Watch calls change with each version of the stage's runs, Jobs and Events
// until ctx ends, also concurrently. It returns when change was called for
// each existing object. The returned function waits for the last call.
func (on *Stage) Watch(ctx context.Context, change func(was, is any)) (ended func(), err error) {
	jobs, events := on.Kube.BatchV1().Jobs(on.Namespace), on.Kube.CoreV1().Events(on.Namespace)
	var watching sync.WaitGroup
	var synced []cache.InformerSynced
	for _, lw := range []*cache.ListWatch{
		listWatch(on.Runs.List, on.Runs.Watch),
		listWatch(jobs.List, jobs.Watch),
		listWatch(events.List, events.Watch),
	} {
		informer := cache.NewSharedIndexInformer(lw, nil, 0, nil)
		handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(is any) { change(nil, is) },
			UpdateFunc: change,
		})
		if err != nil {
			return watching.Wait, err
		}
		watching.Go(func() { informer.RunWithContext(ctx) })
		synced = append(synced, handler.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return watching.Wait, ctx.Err()
	}
	return watching.Wait, nil
}

type options = metav1.ListOptions

func listWatch[L runtime.Object](
	list func(context.Context, options) (L, error), watch cache.WatchFuncWithContext,
) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o options) (runtime.Object, error) {
			return list(ctx, o)
		},
		WatchFuncWithContext: watch,
	}
}

// Jobs are the runs of all Jobs that a watch has seen. The zero value has none.
type Jobs struct {
	mu    sync.Mutex
	runOf map[types.UID]string
}

// Change takes a version of an object. It ignores what is neither the Job of a
// run nor a run that names its Job.
func (j *Jobs) Change(is any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.runOf == nil {
		j.runOf = map[types.UID]string{}
	}
	switch is := is.(type) {
	case *v1alpha1.AgentRun:
		if is.Status.JobRef != nil && is.Status.JobRef.UID != "" {
			j.runOf[is.Status.JobRef.UID] = is.Name
		}
	case *batchv1.Job:
		owner := metav1.GetControllerOf(is)
		if owner != nil {
			j.runOf[is.UID] = owner.Name
		}
	}
}

// Count returns the number of Jobs, and the name of a run for each Job beyond
// its first.
func (j *Jobs) Count() (n int, again []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	runs := slices.Sorted(maps.Values(j.runOf))
	for i := range runs {
		if i > 0 && runs[i] == runs[i-1] {
			again = append(again, runs[i])
		}
	}
	return len(runs), again
}
