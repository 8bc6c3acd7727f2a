// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NameTakenError says that the name of a Job belongs to another Job. No retry
// helps until that Job is gone, unless Deleting is true.
type NameTakenError struct {
	Namespace, Name string

	// Controller is the object that controls the other Job; nil if none does.
	Controller *metav1.OwnerReference

	// Deleting says that the other Job goes away: it is being deleted, or
	// belongs to an earlier owner of the same name, so that the garbage
	// collector deletes it.
	Deleting bool

	named bool // by Request.Name
}

// Error names the Job, and whose it is.
func (e *NameTakenError) Error() string {
	job := e.Namespace + "/" + e.Name
	var text string
	switch {
	case e.Deleting:
		text = "an earlier Job of the name " + job + " is still being deleted"
	case e.Controller == nil:
		text = "the name " + job + " belongs to a Job that has no controller"
	default:
		text = fmt.Sprintf("the name %s belongs to the Job of %s %s",
			job, e.Controller.Kind, e.Controller.Name)
	}
	if e.named {
		return "Request.Name: " + text + "; want the name of a Job of Request.Owner, or a free one"
	}
	return text
}

// nameTaken says whose Job has the name of the Job that was built.
func nameTaken(built, live *batchv1.Job, isNamed bool) error {
	has := metav1.GetControllerOf(live)
	err := &NameTakenError{
		Namespace: built.Namespace, Name: built.Name, Controller: has,
		Deleting: live.DeletionTimestamp != nil, named: isNamed,
	}
	if has == nil {
		return err
	}
	// If the controller is an earlier owner of the same name, it is gone, and
	// the garbage collector will delete its Job.
	mine := metav1.GetControllerOfNoCopy(built)
	if has.Kind == mine.Kind && has.APIVersion == mine.APIVersion && has.Name == mine.Name {
		err.Deleting = true
	}
	return err
}
