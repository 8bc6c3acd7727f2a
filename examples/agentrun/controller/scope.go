// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/expire"
	"github.com/proompteng/controllerkit/jobgc/hold"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

// HoldFinalizer is the finalizer of Options.Hold.
const HoldFinalizer = "agents.controllerkit.dev/result"

// byRun indexes Jobs by the run that controls them.
const byRun = "run"

// scope is the cache of one namespace, or of all, with what works on it.
type scope struct {
	namespace  string
	runs, jobs cache.SharedIndexInformer
	written    cache.MutationCache // runs, with our last writes until the informer has them
	guard      *jobgc.Guard
	expired    *expire.Sweeper
	holds      *hold.Sweeper
}

func (c *Controller) newScope(namespace string, config *rest.Config) (*scope, error) {
	selected := cache.NewFilteredListWatchFromClient(
		c.runs(namespace).GetClient(), "agentruns", namespace, matching(c.options.Selector))
	s := &scope{
		namespace: namespace,
		runs:      cache.NewSharedIndexInformer(selected, new(v1alpha1.AgentRun), 0, nil),
		// An informer of the RESTClient would read JSON, which takes more CPU time.
		jobs: batchinformers.NewFilteredJobInformer(c.cluster, namespace, 0, cache.Indexers{
			byRun: func(obj any) ([]string, error) {
				return []string{runOf(as[batchv1.Job](obj)).String()}, nil
			},
		}, matching(runLabel)),
	}
	if err := errors.Join(s.runs.SetTransform(trim), s.jobs.SetTransform(trim)); err != nil {
		return nil, err
	}
	s.written = cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), s.runs.GetStore(),
		cache.MutationCacheOptions{MaxCacheSize: 8192, TTL: 5 * time.Minute})
	var err error
	s.guard, err = jobgc.New(c.cluster.BatchV1().Jobs, s.cachedJob, s.jobs, c.jobOptions())
	if err != nil {
		return nil, err
	}
	// The search for runs past their retention sends no request.
	retention := expire.Options{TTL: c.options.Retention.RunTTL, Interval: 10 * time.Second}
	s.expired, err = expire.New(c.runs, s.runs.GetStore().List, finished, &c.serverTime, retention)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	holds := hold.Options{Namespace: namespace, Selector: runLabel}
	if c.options.OnHolds != nil {
		holds.OnSweep = func(held int, oldest time.Duration) { c.options.OnHolds(namespace, held, oldest) }
	}
	s.holds, err = hold.New(
		objects.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace,
		objects.Resource(v1alpha1.GroupVersion().WithResource("agentruns")).Namespace,
		HoldFinalizer, holds,
	)
	return s, err
}

// jobOptions are the options of the Guard.
func (c *Controller) jobOptions() jobgc.Options {
	keep := jobgc.Options{Retention: c.options.Retention.Jobs, DeleteCancelled: true}
	if c.options.Hold {
		keep.Finalizer = HoldFinalizer
	}
	return keep
}

// cachedJob reads a Job from the cache.
func (s *scope) cachedJob(_ context.Context, namespace, name string) (*batchv1.Job, error) {
	return batchlisters.NewJobLister(s.jobs.GetIndexer()).Jobs(namespace).Get(name)
}

// matching selects what an informer caches.
func matching(selector string) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) { o.LabelSelector = selector }
}

// fill waits until the caches are filled, and reports whether they are. If they
// cannot be, client-go logs why, and goes on.
func (s *scope) fill(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), s.runs.HasSynced, s.jobs.HasSynced)
}

// follow queues the cached runs of a scope once its cache is filled, and each
// run when it or its Job changes. Only a leader follows: another replica would
// fill its queue and never work on it. It returns false if ctx ends first.
func (c *Controller) follow(ctx context.Context, s *scope) bool {
	if !s.fill(ctx) {
		return false
	}
	runs, err := s.runs.AddEventHandler(on(func(before, after *v1alpha1.AgentRun) {
		if after != nil {
			s.written.OnAddOrUpdate(after)
		}
		if before == nil && s.unannounced(after) {
			c.report(after, &failure{after.Status.Reason, after.Status.Message})
		}
		c.runChanged(before, after)
	}))
	// A Job brings its run to a worker, which releases the Job. The failures
	// that this process has to report must be known before.
	if err != nil || !cache.WaitForCacheSync(ctx.Done(), runs.HasSynced) {
		return false
	}
	jobs, err1 := s.jobs.AddEventHandler(on(c.jobChanged))
	_, err2 := s.runs.AddEventHandler(s.expired) // so that it looks at them only when one is due
	if errors.Join(err1, err2) != nil {
		return false // the informers were stopped: ctx has ended
	}
	return cache.WaitForCacheSync(ctx.Done(), jobs.HasSynced)
}

// releasedAnnotation is on the Jobs that package jobgc has released.
const releasedAnnotation = "jobgc.controllerkit.dev/released"

// unannounced reports whether a failed run that this process has not seen
// before may have no Event, because the process that recorded the failure has
// ended. That process did not release the Job then. The failure has a second
// Event if it ended between the Event and the release, or if the run moved to
// this process's shard before the release.
func (s *scope) unannounced(run *v1alpha1.AgentRun) bool {
	ref := run.Status.JobRef
	if run.Status.Phase != v1alpha1.Failed || ref == nil || ref.Released {
		return false
	}
	obj, _, _ := s.jobs.GetStore().GetByKey(run.Namespace + "/" + ref.Name)
	job := as[batchv1.Job](obj)
	switch {
	case job.UID != ref.UID:
		return false
	case slices.Contains(job.Finalizers, HoldFinalizer):
		return true // perhaps without an outcome: it was deleted before it finished
	}
	return ref.Outcome != "" && job.Annotations[releasedAnnotation] == ""
}

// on calls changed for each change that an informer sees. A created object has
// no before, and a deleted one no after.
func on[T any](changed func(before, after *T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { changed(nil, as[T](obj)) },
		UpdateFunc: func(before, after any) { changed(as[T](before), as[T](after)) },
		DeleteFunc: func(obj any) { changed(as[T](obj), nil) },
	}
}

// as returns an object of a cache, or the last state of an object whose
// deletion the informer missed. Anything else is an empty T.
func as[T any](obj any) *T {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	if t, ok := obj.(*T); ok {
		return t
	}
	return new(T)
}

// remember keeps a write until the informer has it.
func (s *scope) remember(run *v1alpha1.AgentRun) {
	trimRun(run)
	s.written.Mutation(run)
	// This drops it if the watch was faster than the answer.
	_, _, _ = s.written.GetByKey(cache.MetaObjectToName(run).String())
}

// runChanged queues a run that needs a reconcile. The Job of a run whose end
// another process has recorded is released before other runs begin.
func (c *Controller) runChanged(before, after *v1alpha1.AgentRun) {
	c.measured.Active(active(after) - active(before))
	if after == nil {
		c.recorder.Forget(before)
		c.toAnnounce.Delete(before.UID)
		c.announcing.Delete(before.UID)
		return
	}
	key := types.NamespacedName{Namespace: after.Namespace, Name: after.Name}
	switch {
	case before == nil:
		c.queue.Add(key)
	case hasEnded(before, after):
		c.queue.AddFirst(key, 0)
	case status.NeedsReconcile(before, after):
		c.queue.Add(key)
	}
}

// hasEnded reports whether the run ended between its two versions.
func hasEnded(before, after *v1alpha1.AgentRun) bool {
	return after.Status.Phase.Terminal() && !before.Status.Phase.Terminal()
}

// jobChanged queues the run of a Job, before the runs that wait for theirs: a
// long queue must not make its Ref or its result wait.
func (c *Controller) jobChanged(before, after *batchv1.Job) {
	if run := runOf(cmp.Or(after, before)); run.Name != "" {
		c.queue.AddFirst(run, 0)
	}
}

// find returns the scope of a run, and its newest copy without a request. The
// queue has only runs of a scope.
func (c *Controller) find(key types.NamespacedName) (*scope, *v1alpha1.AgentRun) {
	for _, s := range c.scopes {
		if s.namespace == key.Namespace || s.namespace == metav1.NamespaceAll {
			obj, _, _ := s.written.GetByKey(key.String())
			run, _ := obj.(*v1alpha1.AgentRun)
			return s, run
		}
	}
	return nil, nil
}

// hasJob reports whether the cache has a Job of the run.
func (c *Controller) hasJob(run types.NamespacedName) bool {
	s, _ := c.find(run)
	return len(s.jobsOf(run)) > 0
}

// jobsOf returns the cached Jobs of a run, also of an earlier run of its name.
func (s *scope) jobsOf(run types.NamespacedName) []any {
	jobs, _ := s.jobs.GetIndexer().ByIndex(byRun, run.String()) // newScope made the index
	return jobs
}

// releaseOrphans releases the held Jobs of a run that is gone (nil), is being
// deleted, or was created again: no replica will record their results.
func (s *scope) releaseOrphans(
	ctx context.Context, key types.NamespacedName, run *v1alpha1.AgentRun,
) error {
	lives := run != nil && run.DeletionTimestamp == nil
	var failed []error
	for _, obj := range s.jobsOf(key) {
		job := as[batchv1.Job](obj)
		if lives && metav1.IsControlledBy(job, run) {
			continue
		}
		failed = append(failed, s.holds.ReleaseOrphan(ctx, job))
	}
	return errors.Join(failed...)
}

// runOf names the run that controls a Job.
func runOf(job *batchv1.Job) (run types.NamespacedName) {
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.Kind == "AgentRun" {
		run = types.NamespacedName{Namespace: job.Namespace, Name: owner.Name}
	}
	return run
}

// finished returns when a run ended, and its own retention.
func finished(run *v1alpha1.AgentRun) (at time.Time, own *int32) {
	if run.Status.FinishedAt != nil {
		at = run.Status.FinishedAt.Time
	}
	return at, run.Spec.TTLSecondsAfterFinished
}

// active is 1 for a run in flight, otherwise 0.
func active(run *v1alpha1.AgentRun) int {
	if run != nil && run.Status.Phase == v1alpha1.Running {
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
			for _, condition := range as[v1alpha1.AgentRun](obj).Status.Conditions {
				counts[metrics.Condition{Type: condition.Type, Status: string(condition.Status)}]++
			}
		}
	}
	return maps.All(counts)
}
