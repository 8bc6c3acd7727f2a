// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// runsIn deletes the runs of a namespace, for package expire.
type runsIn struct {
	client    client.Client
	namespace string
}

// Delete passes on the uid and the resourceVersion of the run that has expired.
func (r runsIn) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
	return r.client.Delete(ctx, run, &client.DeleteOptions{
		Preconditions: o.Preconditions, PropagationPolicy: o.PropagationPolicy,
	})
}

// finished returns when the end of a run was recorded, and its own retention.
// The Job may have ended long before, while no controller ran.
func finished(run *v1alpha1.AgentRun) (at time.Time, own *int32) {
	if run.Status.FinishedAt == nil {
		return at, nil
	}
	at = run.Status.FinishedAt.Time
	progressing := apimeta.FindStatusCondition(run.Status.Conditions, "Progressing")
	if progressing != nil && progressing.LastTransitionTime.After(at) {
		at = progressing.LastTransitionTime.Time
	}
	return at, run.Spec.TTLSecondsAfterFinished
}
