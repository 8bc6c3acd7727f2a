// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"iter"
	"maps"

	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/metrics"
)

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
