// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package first is the first step of an adoption: a reconciler of
// controller-runtime that writes its status and its Events with controllerkit.
// examples/agentrun goes on from here with Jobs and metrics.
package first

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/kubernetes"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/events"
	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/status"
)

// TaskReconciler reconciles Tasks.
type TaskReconciler struct {
	client.Client

	Writer status.Writer  // a field called Status would hide the method of Client
	Events events.Emitter // in a unit test, an eventstest.Recorder
	Work   Work
}

// Work does what a Task asks for and changes its status. It also sets the
// status when it fails.
type Work func(ctx context.Context, task *v1.Task) error

// Setup registers a reconciler with mgr that does work. It returns what main
// runs in place of mgr.Start.
func Setup(mgr ctrl.Manager, work Work) (start func(context.Context) error, err error) {
	clients, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, err
	}

	writer := status.ForClient(mgr.GetClient())
	sink := events.NewSink(clients.EventsV1().Events, clients.CoreV1().Events)
	recorder, err := events.New(sink, "example.com/tasks", events.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, err
	}
	writer.Owned = []string{"Ready"} // the conditions of this controller
	r := &TaskReconciler{Client: mgr.GetClient(), Writer: writer, Events: recorder, Work: work}
	err = ctrl.NewControllerManagedBy(mgr).For(&v1.Task{}).Complete(r)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return recorder.RunWith(ctx, mgr.Start) // in place of mgr.Start(ctx)
	}, nil
}

// Reconcile works on one Task and records the result, also of a failed attempt.
func (r *TaskReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	task := new(v1.Task)
	if err := r.Get(ctx, req.NamespacedName, task); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.Writer.IsStale(task) { // the cache does not show the last write yet
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	before := task.DeepCopy()
	err := r.Work(ctx, task)                      // your code: it changes task.Status
	_, cerr := r.Writer.Commit(ctx, before, task) // one patch, or none if nothing changed
	err = errors.Join(err, cerr)
	r.Events.Failure(task, err) // a Warning, counted while it repeats; nil is the recovery
	return ctrl.Result{}, err
}
