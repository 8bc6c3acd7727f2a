// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles Tasks with controllerkit, in a reconciler from
// kubebuilder's scaffold. A comment such as +status at the end of a line names
// the package that adds the line to the scaffold.
package controller

//go:generate go tool -modfile=../../../../internal/tools/go.mod controller-gen rbac:roleName=task-manager,headerFile=../../api/v1/yamlheader.txt paths=. output:rbac:dir=../../config/rbac

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/events"
	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

// TaskReconciler runs each Task as a Job.
type TaskReconciler struct {
	client.Client

	Live    client.Reader       // the manager's API reader, which has no cache
	Events  *events.Recorder    // +events
	Jobs    *jobgc.Guard        // +jobgc
	Metrics *metrics.Controller // +metrics
	Runs    *metrics.Runs       // +metrics
	Writer  status.Writer       // +status
}

// +kubebuilder:rbac:groups=tasks.controllerkit.dev,resources=tasks,verbs=get;list;watch
// +kubebuilder:rbac:groups=tasks.controllerkit.dev,resources=tasks/status,verbs=patch
// +kubebuilder:rbac:groups=tasks.controllerkit.dev,resources=tasks/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io;"",resources=events,verbs=create;patch

// Reconcile takes a Task as far as it can go now.
func (r *TaskReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var result metrics.Result                 // +metrics
	defer r.Metrics.Begin().End(ctx, &result) // +metrics
	task := new(v1.Task)
	if err := r.Get(ctx, req.NamespacedName, task); err != nil || task.DeletionTimestamp != nil {
		err = client.IgnoreNotFound(err)                     // the Job of a deleted Task goes with it
		result = metrics.Classify(err, 0, events.IsTerminal) // +metrics
		return ctrl.Result{}, err
	}
	before := task.DeepCopy()
	ref, found, err := r.Jobs.Step(ctx, jobgc.Request{ // +jobgc
		Owner: task, Ref: task.Status.Job, Done: task.Done(), // +jobgc
		Job: func() (*batchv1.Job, error) { return newJob(task), nil }, // +jobgc
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) { // +jobgc
			live := new(v1.Task)
			err := r.Live.Get(ctx, req.NamespacedName, live)
			return live, live.Status.Job, live.Done(), err
		},
	})
	if err == nil {
		task.Status.Job = ref
		enter(task, found)
	} else {
		hinder(task, err)
	}
	_, failed := r.Writer.Commit(ctx, before, task, facts(task, found)) // +status
	err = errors.Join(err, failed)
	if err == nil && task.Done() && !before.Done() && found.Lost() {
		r.reportLost(task, found.Message)
	}
	r.Events.Failure(task, err)                                    // +events
	result = metrics.Classify(err, found.After, events.IsTerminal) // +metrics
	if err != nil {
		return ctrl.Result{}, err // a delay is not used with an error
	}
	return ctrl.Result{RequeueAfter: found.After}, nil
}

// reportLost counts a lost Job and records an Event.
func (r *TaskReconciler) reportLost(task *v1.Task, message string) {
	r.Runs.JobMissing()                                                                   // +metrics
	r.Events.Eventf(task, nil, corev1.EventTypeWarning, "JobLost", "Step", "%s", message) // +events
}
