// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/jobgc"
)

func newJob(run *Run) *batchv1.Job {
	owner := *metav1.NewControllerRef(run, Version().WithKind("Run"))
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: run.Namespace, Name: jobName(run), OwnerReferences: []metav1.OwnerReference{owner},
	}}
}

func jobName(run *Run) string { return run.Name + "-job" }

func jobsBefore(ctx context.Context, clients kubernetes.Interface, run *Run) (phase string, err error) {
	jobs := clients.BatchV1().Jobs(run.Namespace)
	job, err := jobs.Get(ctx, jobName(run), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		job, err = jobs.Create(ctx, newJob(run), metav1.CreateOptions{})
	}
	if err != nil {
		return run.Status.Phase, err
	}
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete {
			return "Succeeded", nil
		}
		if c.Type == batchv1.JobFailed {
			return "Failed", nil
		}
	}
	return "Running", nil
}

// newGuard is called once, where main makes the controller and before it starts
// the factory.
func newGuard(clients kubernetes.Interface, factory informers.SharedInformerFactory) (*jobgc.Guard, error) {
	jobs := factory.Batch().V1().Jobs()
	return jobgc.New(clients.BatchV1().Jobs, jobgc.FromLister(jobs.Lister()), jobgc.Options{})
}

// newGuardOf is newGuard for a program on controller-runtime.
func newGuardOf(mgr ctrl.Manager) (*jobgc.Guard, error) {
	clients, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	return jobgc.New(clients.BatchV1().Jobs, jobgc.FromCache(mgr.GetCache()), jobgc.Options{})
}

func jobsAfter(
	ctx context.Context, guard *jobgc.Guard, live client.Reader, run *Run,
) (phase string, err error) {
	ref, found, err := guard.Step(ctx, jobgc.Request{
		Owner: run, Ref: run.Status.Job, Done: done(run), Name: jobName(run),
		Job: func() (*batchv1.Job, error) { return newJob(run), nil },
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			stored := new(Run)
			err := live.Get(ctx, client.ObjectKeyFromObject(run), stored)
			return stored, stored.Status.Job, done(stored), err
		},
	})
	if err != nil {
		return run.Status.Phase, err
	}
	run.Status.Job = ref // write it with the phase, in one status update
	switch {
	case done(run):
		return run.Status.Phase, nil
	case found.Outcome != "":
		return string(found.Outcome), nil
	case found.Lost():
		return "Failed", nil
	}
	return "Running", nil
}

func done(run *Run) bool { return run.Status.Phase == "Succeeded" || run.Status.Phase == "Failed" }
