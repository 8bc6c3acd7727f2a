// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// place is where an owner that has recorded no Job has one.
type place struct {
	namespace, name string
	owner           types.UID
}

// ending is the last state of a Job that had finished.
type ending struct {
	job *batchv1.Job // without what takes most of its memory
}

// placeOf returns the place of a Job; none without a controller.
func placeOf(job *batchv1.Job) (at place, ok bool) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return place{}, false
	}
	return place{job.Namespace, job.Name, owner.UID}, true
}

// see remembers a Job that Step puts into a Ref, because the caller may not
// have written that Ref yet when the Job is deleted.
func (g *Guard[J]) see(job *batchv1.Job) {
	at, ok := placeOf(job)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if StateOf(job).State == Finished {
		g.ended.put(at, ending{job: slim(job)})
		return
	}
	g.begun.put(at, job.UID)
}

// recall looks for the Job of an owner that has recorded none among the Jobs
// that the Guard has seen. It reads the Job live, because the Job may be there,
// also again.
func (g *Guard[J]) recall(ctx context.Context, ref Ref, owner types.UID) (Observation, error) {
	at := place{ref.Namespace, jobName(ref, owner), owner}
	g.mu.Lock()
	_, ended := g.ended.get(at)
	_, begun := g.begun.get(at)
	g.mu.Unlock()
	if begun || ended { // it may be there, also again
		found, err := g.readUnrecorded(ctx, ref, owner)
		if err != nil || found.Job != nil {
			return found, err
		}
	}
	return g.recallGone(at), nil
}

// recallGone is recall for a Job that does not exist.
func (g *Guard[J]) recallGone(at place) Observation {
	g.mu.Lock()
	last, ended := g.ended.get(at)
	uid, begun := g.begun.get(at)
	g.mu.Unlock()
	switch {
	case ended:
		found := lastState(last.job)
		found.Source = sourceTombstone
		found.Hint = hint(found)
		return found
	case begun && !g.settled(uid):
		return Observation{State: Pending, Source: sourceCacheBehind, After: settle}
	}
	return Observation{State: NotCreated, Source: sourceRef}
}

// slim is a copy of a Job without its pod template and its managedFields, which
// take most of its memory.
func slim(job *batchv1.Job) *batchv1.Job {
	out := *job
	out.ManagedFields = nil
	out.Spec.Template = corev1.PodTemplateSpec{}
	return &out
}
