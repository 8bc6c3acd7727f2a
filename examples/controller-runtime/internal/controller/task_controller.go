// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles Tasks, with the blocks of controllerkit in a reconciler as kubebuilder scaffolds it. Lines that
// end in a comment such as +status are those that the package adds to the scaffold.
package controller

//go:generate go tool -modfile=../../../../internal/tools/go.mod controller-gen rbac:roleName=task-manager,headerFile=../../api/v1/yamlheader.txt paths=. output:rbac:dir=../../config/rbac

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/proompteng/controllerkit/events"
	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

// TaskReconciler runs each Task as a Job.
type TaskReconciler struct {
	client.Client

	Events  *events.Recorder                       // +events
	Jobs    *jobgc.Guard[batchclient.JobInterface] // +jobgc
	Metrics *metrics.Controller                    // +metrics
}

// +kubebuilder:rbac:groups=tasks.controllerkit.dev,resources=tasks,verbs=get;list;watch
// +kubebuilder:rbac:groups=tasks.controllerkit.dev,resources=tasks/status,verbs=patch
// +kubebuilder:rbac:groups=tasks.controllerkit.dev,resources=tasks/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io;"",resources=events,verbs=create;patch

// Reconcile is one attempt at one Task: measured, and reported to whoever looks at the Task.
func (r *TaskReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var result metrics.Result                 // +metrics
	defer r.Metrics.Begin().End(ctx, &result) // +metrics

	task := new(v1.Task)
	var after time.Duration
	err := client.IgnoreNotFound(r.Get(ctx, req.NamespacedName, task))
	if err == nil && task.UID != "" {
		after, err = r.reconcile(ctx, task)
		r.Events.Failure(task, err) // +events
	}
	result = metrics.Classify(err, after, events.Terminal) // +metrics
	return ctrl.Result{RequeueAfter: after}, err
}

// reconcile takes the Task as far as it can go now. Each step is recorded before the next one relies on it.
func (r *TaskReconciler) reconcile(ctx context.Context, task *v1.Task) (time.Duration, error) {
	writer := status.Writer[*v1.Task]{Owned: []string{"Ready"}, OnCommit: r.Metrics.StatusWrite}                                             // +status
	patch := func(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*v1.Task, error) { // +status
		live := &v1.Task{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: name}} // +status
		return live, r.Status().Patch(ctx, live, client.RawPatch(pt, data))                    // +status
	}
	for task.DeletionTimestamp == nil {
		before := task.DeepCopy()
		found, err := r.step(ctx, task)
		if err != nil {
			return 0, err
		}
		if _, err := writer.Commit(ctx, patch, before, task, facts(task, found)); err != nil { // +status
			return 0, err
		}
		if task.ResourceVersion == before.ResourceVersion {
			return found.After, nil // there was nothing to write, or the Task is gone
		}
		if found.Lost() && task.Status.Job.Outcome == "" { // told once: it is recorded
			r.Metrics.JobMissing()                                                                // +metrics
			r.Events.Eventf(task, nil, corev1.EventTypeWarning, "JobLost", "Look", found.Message) // +events
		}
		log.FromContext(ctx).Info("status recorded", "phase", task.Status.Phase)
	}
	return 0, nil // it is being deleted, and its Job goes with it
}

// step makes one move; what it found of the Job tells when the work began and ended, and when to look again.
func (r *TaskReconciler) step(ctx context.Context, task *v1.Task) (found jobgc.Finding, err error) {
	ref := task.Status.Job
	switch {
	case ref == nil: // the intent is recorded before the Job is created
		task.Status.Job = &jobgc.Ref{Namespace: task.Namespace, Name: jobName(task)}
		enter(task, v1.Pending, "WaitingForJob", "")
		return found, nil
	case ref.UID == "":
		*ref, err = r.Jobs.Ensure(ctx, *ref, newJob(task)) // +jobgc
		return found, err
	case ref.Released, facts(task, found).Progress == status.Done && ref.Outcome == "":
		return found, nil // settled: released or lost
	}
	found, err = r.Jobs.Look(ctx, *ref) // +jobgc
	switch {
	case err != nil, found.State == jobgc.Pending:
	case ref.Outcome != "": // recorded: the Job may go
		err = r.Jobs.Release(ctx, *ref, found, jobgc.Retention{Succeeded: new(10 * time.Minute)}) // +jobgc
		ref.Released = err == nil
	case found.Lost():
		enter(task, v1.Failed, "JobLost", found.Message)
	case found.State == jobgc.Finished:
		ref.Outcome = found.Outcome
		enter(task, string(found.Outcome), "Job"+string(found.Outcome), found.Message)
	case !found.StartedAt.IsZero():
		enter(task, v1.Running, "JobRunning", "")
	}
	return found, err
}
