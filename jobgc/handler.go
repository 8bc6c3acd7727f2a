// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// handler is what New registers with the informer.
type handler struct{ g *Guard }

// OnAdd notes the Job.
func (h handler) OnAdd(obj any, _ bool) {
	job := jobOf(obj)
	if job == nil {
		return
	}
	h.g.memory.appeared(job.UID)
	h.g.noteOther(job)
}

// OnUpdate notes the Job. If a Job was recreated under its name while the watch
// was away, the informer reports it as an update, and no deletion.
func (h handler) OnUpdate(was, obj any) {
	before := jobOf(was)
	after := jobOf(obj)
	if after == nil {
		return
	}
	if before != nil {
		h.compare(before, after)
	}
	h.OnAdd(after, false)
}

// compare notes what a Job has lost.
func (h handler) compare(before, after *batchv1.Job) {
	if before.UID != after.UID {
		h.OnDelete(before)
		return
	}
	if controllerOf(before) != controllerOf(after) {
		h.g.allow(before)
		h.g.forgetOther(before)
	}
	if wentBack(before, after) {
		h.g.memory.change(after.UID, h.g.now(), past.isBack)
	}
}

// OnDelete remembers a Job that was finished when it was deleted: the
// informer's delete event carries its last state. The state of a missed delete
// may be stale, but a finish never is.
func (h handler) OnDelete(obj any) {
	job := jobOf(obj)
	if job == nil {
		return
	}
	if isOurs(job) || h.g.memory.knows(job) {
		h.g.memory.deleted(job, h.g.now())
	}
	h.g.allow(job)
	h.g.forgetOther(job)
}

// wentBack reports whether a Job has a state that it had before: the API
// server's store was restored. No Job that has finished runs again, no deletion
// ends, no client takes a release back, and the generation only grows.
func wentBack(before, after *batchv1.Job) bool {
	switch {
	case !isOurs(before):
		return false
	case after.Generation < before.Generation:
		return true
	case StateOf(before).State == Finished && StateOf(after).State != Finished:
		return true
	case before.DeletionTimestamp != nil && after.DeletionTimestamp == nil:
		return true
	}
	return before.Annotations[releasedAnnotation] != "" && after.Annotations[releasedAnnotation] == ""
}

// isOurs reports whether Step has created a Job or has taken it over. A
// transform may strip the annotation.
func isOurs(job *batchv1.Job) bool {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return false
	}
	return job.Annotations[annotation] != "" || job.Name == nameFor(owner.UID)
}

// controllerOf returns the uid of the owner that controls a Job, if any.
func controllerOf(job *batchv1.Job) types.UID {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return ""
	}
	return owner.UID
}

// jobOf returns the Job that an event carries. The event of a missed delete has
// the last state in a field Obj of a type of client-go, which this package does
// not import.
func jobOf(obj any) *batchv1.Job {
	job, ok := obj.(*batchv1.Job)
	if ok || obj == nil {
		return job
	}
	var missed struct{ Obj *batchv1.Job }
	data, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	err = json.Unmarshal(data, &missed)
	if err != nil {
		return nil
	}
	return missed.Obj
}
