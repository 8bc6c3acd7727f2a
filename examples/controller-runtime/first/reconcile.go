// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package first is the first step of an adoption: a reconciler of
// controller-runtime that writes its status and its Events with controllerkit.
// The packages in internal/controller go on from here with Jobs and metrics.
package first

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/status"
)

// Failures is the method of *events.Recorder that the reconciler calls. In a
// unit test *eventstest.Recorder implements it.
type Failures interface {
	Failure(obj runtime.Object, err error)
}

// TaskReconciler reconciles Tasks.
type TaskReconciler struct {
	client.Client

	Writer status.Writer // a field called Status would hide the method of Client
	Events Failures
	// Work does what the Task asks for and changes its status. It also sets the
	// status when it fails.
	Work func(ctx context.Context, task *v1.Task) (status.Facts, error)
}

// NewTaskReconciler returns a reconciler that reads and writes with c.
func NewTaskReconciler(c client.Client, events Failures, work func(context.Context, *v1.Task) (status.Facts, error)) *TaskReconciler {
	writer := status.ForClient(c.Patch, c.Status().Patch, client.RawPatch)
	writer.Owned = []string{"Ready"}
	return &TaskReconciler{Client: c, Writer: writer, Events: events, Work: work}
}

// Reconcile works on one Task and records the result, also of a failed attempt.
func (r *TaskReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	task := new(v1.Task)
	if err := r.Get(ctx, req.NamespacedName, task); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := task.DeepCopy()
	facts, err := r.Work(ctx, task) // your code: it changes task.Status and says what happened

	_, cerr := r.Writer.Commit(ctx, before, task, facts) // one patch, or none if nothing changed
	err = errors.Join(err, cerr)
	r.Events.Failure(task, err) // a Warning, counted while it repeats; nil is the recovery
	return ctrl.Result{}, err
}
