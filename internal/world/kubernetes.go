// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// JobResource is the resource of Jobs.
const JobResource = "jobs.batch"

// Jobs are the Job controller and the kubelet: a Job starts, and ends with one
// of the results; without faults with the first.
func Jobs(results ...batchv1.JobConditionType) Actor {
	return Actor{Name: "Job controller", Next: func(s *Store) (writes []Request, at time.Time) {
		for _, o := range s.Objects(JobResource) {
			job, err := As[batchv1.Job](o)
			if err == nil && job.DeletionTimestamp == nil {
				writes = append(writes, jobSteps(o, job, s.Now, results)...)
			}
		}
		return writes, time.Time{}
	}}
}

func jobSteps(o *Object, job *batchv1.Job, now time.Time, results []batchv1.JobConditionType) []Request {
	isSuspended := ptr.Deref(job.Spec.Suspend, false)
	switch {
	case finish(job) != nil:
		return nil
	case isSuspended && job.Status.StartTime != nil:
		return []Request{patchStatus(o, map[string]any{"startTime": nil, "active": nil, "ready": nil})}
	case isSuspended:
		return nil
	case job.Status.StartTime == nil:
		started := map[string]any{"startTime": timeText(now), "active": 1, "ready": 1}
		return []Request{patchStatus(o, started)}
	}
	var ends []Request
	for _, result := range results {
		condition := map[string]any{
			"type": result, "status": corev1.ConditionTrue, "lastTransitionTime": timeText(now),
		}
		end := map[string]any{"active": nil, "ready": nil, "conditions": []any{condition}}
		if result == batchv1.JobComplete {
			end["completionTime"] = timeText(now)
			end["succeeded"] = 1
		} else {
			end["failed"] = 1
		}
		ends = append(ends, patchStatus(o, end))
	}
	return ends
}

// finish returns the condition that says that a Job has ended, or nil.
func finish(job *batchv1.Job) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		isEnd := c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
		return isEnd && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}

// TTL is the TTL controller: it deletes a Job ttlSecondsAfterFinished after its
// end.
func TTL() Actor {
	return Actor{Name: "TTL controller", Next: func(s *Store) (writes []Request, at time.Time) {
		for _, o := range s.Objects(JobResource) {
			expires := expiry(o)
			switch {
			case expires.IsZero():
			case !expires.After(s.Now):
				writes = append(writes, deletion(o, metav1.DeletePropagationForeground))
			case at.IsZero() || expires.Before(at):
				at = expires
			}
		}
		return writes, at
	}}
}

// expiry is when the TTL of a Job ends; zero for never.
func expiry(o *Object) time.Time {
	job, err := As[batchv1.Job](o)
	if err != nil || job.DeletionTimestamp != nil || job.Spec.TTLSecondsAfterFinished == nil {
		return time.Time{}
	}
	end := finish(job)
	if end == nil {
		return time.Time{}
	}
	ttl := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
	return end.LastTransitionTime.UTC().Add(ttl)
}

// GarbageCollector deletes objects whose owners are gone. It removes the
// finalizer of an object that waited for the deletion of its dependents.
func GarbageCollector() Actor {
	return Actor{Name: "garbage collector", Next: func(s *Store) (writes []Request, at time.Time) {
		for _, o := range s.objects {
			if s.isOrphan(o) && o.Deleting == nil {
				writes = append(writes, deletion(o, metav1.DeletePropagationBackground))
			}
			if o.Deleting != nil && hasFinalizer(o, metav1.FinalizerDeleteDependents) {
				writes = append(writes, s.deleteDependents(o)...)
			}
		}
		return writes, time.Time{}
	}}
}

// deleteDependents deletes what an object owns, or lets the object go.
func (s *Store) deleteDependents(o *Object) (writes []Request) {
	owned := s.ownedBy(o.UID)
	for _, dependent := range owned {
		if dependent.Deleting == nil {
			writes = append(writes, deletion(dependent, metav1.DeletePropagationForeground))
		}
	}
	if len(owned) > 0 {
		return writes
	}
	left := slices.DeleteFunc(slices.Clone(o.Finalizers), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents
	})
	return []Request{mergePatch(o, "", map[string]any{"metadata": map[string]any{"finalizers": left}})}
}

// isOrphan reports whether an object has owners and all of them are gone.
func (s *Store) isOrphan(o *Object) bool {
	for _, owner := range o.Owners {
		if slices.ContainsFunc(s.objects, func(other *Object) bool { return other.UID == owner.UID }) {
			return false
		}
	}
	return len(o.Owners) > 0
}

func (s *Store) ownedBy(uid types.UID) []*Object {
	return slices.DeleteFunc(slices.Clone(s.objects), func(o *Object) bool {
		return !slices.ContainsFunc(o.Owners, func(owner metav1.OwnerReference) bool {
			return owner.UID == uid
		})
	})
}

func deletion(o *Object, policy metav1.DeletionPropagation) Request {
	return Request{Verb: "delete", Key: o.Key, Delete: metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &o.UID}, PropagationPolicy: &policy,
	}}
}

func patchStatus(o *Object, fields map[string]any) Request {
	return mergePatch(o, "status", map[string]any{"status": fields})
}

func mergePatch(o *Object, subresource string, fields map[string]any) Request {
	body, _ := json.Marshal(fields) // maps of plain values
	return Request{
		Verb: "patch", Key: o.Key, Subresource: subresource, Body: body, PatchType: types.MergePatchType,
	}
}
