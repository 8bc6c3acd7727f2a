// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/patch"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/status"
)

func fluxBefore(ctx context.Context, c client.Client, run *Run, failed error) error {
	patcher := patch.NewSerialPatcher(run, c)
	if failed != nil {
		conditions.MarkFalse(run, meta.ReadyCondition, "Failed", "%s", failed)
		conditions.MarkTrue(run, meta.StalledCondition, "Failed", "%s", failed)
	} else {
		conditions.MarkTrue(run, meta.ReadyCondition, meta.SucceededReason, "done")
		conditions.Delete(run, meta.StalledCondition)
	}
	return patcher.Patch(ctx, run,
		patch.WithOwnedConditions{Conditions: []string{meta.ReadyCondition, meta.StalledCondition}},
		patch.WithStatusObservedGeneration{})
}

// newConditionsWriter is called once, where main makes the reconciler.
func newConditionsWriter(c client.Client) status.Writer {
	w := status.ForClient(c)
	w.Owned = []string{"Ready", "Stalled"}
	return w
}

func fluxAfter(ctx context.Context, w status.Writer, run *Run, failed error) error {
	before := run.DeepCopy()
	group := []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "done"},
	}
	if failed != nil {
		group = []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Failed", Message: failed.Error()},
			{Type: "Stalled", Status: metav1.ConditionTrue, Reason: "Failed", Message: failed.Error()},
		}
	}
	w.SetConditions(&run.Status.Conditions, time.Now(), group...) // removes owned types that are not in group
	_, err := w.Commit(ctx, before, run)
	return err
}
