// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"

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

// taken says whose Job has the name of the Job of the owner.
func (c *call) taken() error {
	live := c.live
	err := &NameTakenError{Namespace: c.ref.Namespace, Name: c.ref.Name, named: c.req.Name != ""}
	has := metav1.GetControllerOfNoCopy(live)
	err.Deleting = live.DeletionTimestamp != nil
	if has == nil {
		return err
	}
	err.Controller = has
	// If the controller is an earlier owner of the same name, it is gone, and
	// the garbage collector will delete its Job.
	mine := metav1.GetControllerOfNoCopy(c.builder.job)
	sameKind := has.Kind == mine.Kind && has.APIVersion == mine.APIVersion
	if sameKind && has.Name == mine.Name {
		err.Deleting = true
	}
	return err
}

// lookingFor is the error of the last request. Of a read that follows a refusal
// it also names the refusal.
func (c *call) lookingFor() error {
	job := c.ref.Namespace + "/" + c.ref.Name
	if c.asked != requestRead {
		return c.err
	}
	switch c.from {
	case stageUnbuilt:
		return fmt.Errorf("looking for a Job that cannot be built: %w", c.err)
	case stageRefused:
		return fmt.Errorf("looking for the Job %s, whose creation was refused (%v): %w",
			job, c.why, c.err) //nolint:errorlint // what refused is not the answer
	case stageRaiseAgain:
		return fmt.Errorf("looking for the Job %s, whose TTL was not raised (%v): %w",
			job, c.why, c.err) //nolint:errorlint // see above
	case stageMarkAgain, stageReread:
		if c.why != nil {
			return fmt.Errorf("looking for the Job %s, whose patch was refused (%v): %w",
				job, c.why, c.err) //nolint:errorlint // see above
		}
	default:
	}
	return c.err
}
