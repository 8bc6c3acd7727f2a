// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"iter"
	"maps"

	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/metrics"
)

// reportEnd reports the recorded end of a run, and why it failed. A count or an
// Event of something that was not recorded would come again.
func (r *Reconciler) reportEnd(ctx context.Context, run *v1alpha1.AgentRun, failed error) {
	r.events.Failure(run, failed)
	st := run.Status
	result := metrics.Success
	switch {
	case failed != nil:
		result = metrics.TerminalError
	case st.Phase == v1alpha1.Cancelled:
		result = metrics.Canceled
	}
	if st.Reason == reasonWorkflowJobMissing {
		r.runs.JobMissing()
	}
	if st.StartedAt != nil && st.FinishedAt != nil {
		r.runs.End(ctx, st.FinishedAt.Sub(st.StartedAt.Time), result)
	}
	log.FromContext(ctx).Info("Run ended", "phase", st.Phase, "reason", st.Reason)
}

// running counts the runs in flight by what the cache sees.
func running(runs *metrics.Runs) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { runs.Active(isRunning(obj)) },
		UpdateFunc: func(before, after any) { runs.Active(isRunning(after) - isRunning(before)) },
		DeleteFunc: func(obj any) { runs.Active(-isRunning(obj)) },
	}
}

// isRunning is 1 for a run in flight, otherwise 0.
func isRunning(obj any) int {
	if missed, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	run, ok := obj.(*v1alpha1.AgentRun)
	if ok && run.Status.Phase == v1alpha1.Running {
		return 1
	}
	return 0
}

// list returns a function that returns all cached runs.
func list(ctx context.Context, cached client.Reader) func() []any {
	return func() (all []any) {
		var list v1alpha1.AgentRunList
		err := cached.List(ctx, &list, client.UnsafeDisableDeepCopy) // it makes no request
		if err != nil {
			return nil // ctx has ended
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		return all
	}
}

// conditions counts the cached runs by condition, once for each collection of
// the metrics.
func conditions(list func() []any) func(context.Context) iter.Seq2[metrics.Condition, int64] {
	return func(context.Context) iter.Seq2[metrics.Condition, int64] {
		counts := map[metrics.Condition]int64{}
		for _, obj := range list() {
			run, ok := obj.(*v1alpha1.AgentRun)
			if !ok {
				continue
			}
			for _, condition := range run.Status.Conditions {
				counts[metrics.Condition{Type: condition.Type, Status: string(condition.Status)}]++
			}
		}
		return maps.All(counts)
	}
}
