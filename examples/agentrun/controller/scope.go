// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	jobs "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

// scope is the cache of one namespace, or of all.
type scope struct {
	namespace  string
	runs, jobs cache.SharedIndexInformer
	followed   []cache.InformerSynced
	written    cache.MutationCache // runs, with our last writes if they are newer than the informer's copy
	guard      *jobgc.Guard[jobs.JobInterface]
}

func (c *Controller) newScope(namespace string) (*scope, error) {
	s := &scope{
		namespace: namespace,
		runs:      informer(c.runs(namespace), new(v1alpha1.AgentRun), c.options.Selector),
		jobs:      informer(c.cluster.BatchV1().Jobs(namespace), new(batchv1.Job), runLabel),
	}
	s.written = cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), s.runs.GetStore(),
		cache.MutationCacheOptions{MaxCacheSize: 8192, TTL: 5 * time.Minute})
	err := s.jobs.AddIndexers(cache.Indexers{byRun: func(obj any) ([]string, error) {
		if run, ok := runOf(obj); ok {
			return []string{run.String()}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index Jobs: %w", err)
	}
	if s.guard, err = jobgc.New(c.cluster.BatchV1().Jobs, s.jobs, jobgc.Options{
		Retention: c.options.Retention, Finalizer: c.holdFinalizer(), DeleteCancelled: true,
	}); err != nil {
		return nil, err
	}
	return s, nil
}

// follow queues the cached runs now, and each run when it changes.
func (s *scope) follow(c *Controller) error {
	ofRuns, err := s.runs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if run, ok := obj.(*v1alpha1.AgentRun); ok {
				c.queue.Add(keyOf(run))
				c.measured.Active(active(run))
			}
		},
		UpdateFunc: func(was, is any) {
			before, ok1 := was.(*v1alpha1.AgentRun)
			after, ok2 := is.(*v1alpha1.AgentRun)
			if ok1 && ok2 {
				c.measured.Active(active(after) - active(before))
				if status.NeedsReconcile(before, after) || ended(before, after) {
					c.queue.Add(keyOf(after))
				}
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if run, ok := obj.(*v1alpha1.AgentRun); ok {
				c.measured.Active(-active(run))
				c.recorder.Forget(run)
				c.unsure.Delete(run.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch AgentRuns: %w", err)
	}
	ofJobs, err := s.jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueueOwner,
		UpdateFunc: func(_, is any) { c.enqueueOwner(is) },
		DeleteFunc: c.enqueueOwner,
	})
	if err != nil {
		return fmt.Errorf("watch Jobs: %w", err)
	}
	s.followed = []cache.InformerSynced{ofRuns.HasSynced, ofJobs.HasSynced}
	return nil
}

// scope returns the scope of a namespace.
func (c *Controller) scope(namespace string) *scope {
	for _, s := range c.scopes {
		if s.namespace == namespace || s.namespace == metav1.NamespaceAll {
			return s
		}
	}
	return nil
}

// cached returns the newest copy of a run without a request.
func (s *scope) cached(key types.NamespacedName) (*v1alpha1.AgentRun, bool) {
	obj, found, err := s.written.GetByKey(key.String())
	run, ok := obj.(*v1alpha1.AgentRun)
	return run, found && ok && err == nil
}

// byRun indexes Jobs by the run that controls them.
const byRun = "run"

// enqueueOwner queues the run of a Job.
func (c *Controller) enqueueOwner(obj any) {
	if run, ok := runOf(obj); ok {
		c.queue.Add(run)
	}
}

// runOf returns the run that controls a Job. The informer may have missed the
// deletion of the Job.
func runOf(obj any) (types.NamespacedName, bool) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if job, ok := obj.(*batchv1.Job); ok {
		if owner := metav1.GetControllerOf(job); owner != nil && owner.Kind == "AgentRun" {
			return types.NamespacedName{Namespace: job.Namespace, Name: owner.Name}, true
		}
	}
	return types.NamespacedName{}, false
}

func keyOf(run *v1alpha1.AgentRun) types.NamespacedName {
	return types.NamespacedName{Namespace: run.Namespace, Name: run.Name}
}

// ended reports whether the run has just ended, so that its Job can be
// released.
func ended(before, after *v1alpha1.AgentRun) bool {
	return before.Status.Phase.Progress() != status.Done && after.Status.Phase.Progress() == status.Done
}

// active is 1 for a run in flight, otherwise 0.
func active(run *v1alpha1.AgentRun) int {
	if run.Status.Phase.Progress() == status.Running {
		return 1
	}
	return 0
}

// conditions counts the cached runs by condition, once for each collection of
// the metrics.
func (c *Controller) conditions(context.Context) iter.Seq2[metrics.Condition, int64] {
	counts := map[metrics.Condition]int64{}
	for _, s := range c.scopes {
		for _, obj := range s.runs.GetStore().List() {
			if run, ok := obj.(*v1alpha1.AgentRun); ok {
				for _, condition := range run.Status.Conditions {
					counts[metrics.Condition{Type: condition.Type, Status: string(condition.Status)}]++
				}
			}
		}
	}
	return maps.All(counts)
}
