// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package onejob is the reconciler in the documentation of package jobgc: it
// runs each Task as a Job, with jobgc alone.
package onejob

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/jobgc"
)

// Reconciler runs Tasks.
type Reconciler struct {
	client.Client

	Live client.Reader // the manager's API reader, which has no cache
	Jobs *jobgc.Guard
}

// Setup registers a Reconciler with mgr. The Guard reads Jobs from the
// manager's cache, and live by a clientset.
func Setup(mgr ctrl.Manager) error {
	clients, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	guard, err := jobgc.New(clients.BatchV1().Jobs, jobgc.FromCache(mgr.GetCache()), jobgc.Options{})
	if err != nil {
		return err
	}
	r := &Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Jobs: guard}
	return ctrl.NewControllerManagedBy(mgr).For(&v1.Task{}).Owns(&batchv1.Job{}).Complete(r)
}

// Reconcile takes a Task as far as it can go now.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	task := new(v1.Task)
	if err := r.Get(ctx, req.NamespacedName, task); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := task.DeepCopy()
	ref, found, err := r.Jobs.Step(ctx, jobgc.Request{
		Owner: task, Ref: task.Status.Job, Done: task.Done(),
		// Name: what your Jobs have been called so far, if you have any.
		Job: func() (*batchv1.Job, error) { return newJob(task), nil },
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			live := new(v1.Task)
			err := r.Live.Get(ctx, req.NamespacedName, live) // mgr.GetAPIReader()
			return live, live.Status.Job, live.Done(), err
		},
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	task.Status.Job = ref
	enter(task, found) // your phases and conditions
	if !equality.Semantic.DeepEqual(before.Status, task.Status) {
		lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err = r.Status().Patch(ctx, task, lock)
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: found.After}, nil
}

// enter puts the Task into the phase that its Job is in. A final phase stays.
func enter(task *v1.Task, found jobgc.Observation) {
	switch {
	case task.Done() || found.State == jobgc.Pending || found.State == jobgc.NotCreated:
	case found.Lost():
		task.Status.Phase = v1.Failed
	case found.Outcome != "":
		task.Status.Phase = string(found.Outcome)
	case found.StartedAt.IsZero():
		task.Status.Phase = v1.Pending
	default:
		task.Status.Phase = v1.Running
	}
}

func newJob(task *v1.Task) *batchv1.Job {
	owner := *metav1.NewControllerRef(task, v1.GroupVersion().WithKind("Task"))
	container := corev1.Container{Name: "task", Image: task.Spec.Image, Command: task.Spec.Command}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       task.Namespace,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: task.Spec.PodAnnotations},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{container},
			},
		}},
	}
}
