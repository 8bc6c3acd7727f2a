// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	clusterTakes = 100 * time.Millisecond // a step of the Job controller or the garbage collector
	agentTakes   = 5 * time.Second
	podsTake     = 2 * time.Minute // for a Job whose pods a quota refuses at first
)

// The agents say in an annotation of their pods how they end.
const (
	agentAnnotation = "agent"
	succeeds        = "succeeds"
	fails           = "fails"
	never           = "never"
	late            = "late"
)

// clusterStep is the next step of the Job controller or the TTL controller with
// a Job.
type clusterStep struct {
	name  string // the same name means that the step is still due
	after time.Duration
	patch values // of the status; nil deletes the Job
}

// nextStep is the zero value if nothing happens to the Job by itself.
func nextStep(job *batchv1.Job, now time.Time) clusterStep {
	agent := job.Spec.Template.Annotations[agentAnnotation]
	kind, finishedAt := finished(job)
	switch {
	case job.DeletionTimestamp != nil:
		return clusterStep{}
	case kind != "":
		if job.Spec.TTLSecondsAfterFinished == nil {
			return clusterStep{}
		}
		ttl := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
		wait := max(finishedAt.Add(ttl).Sub(now), 0) + clusterTakes
		return clusterStep{name: "ttl " + ttl.String(), after: wait}
	case *job.Spec.Suspend:
		return clusterStep{}
	case job.Status.StartTime == nil:
		return clusterStep{"start", clusterTakes, values{"startTime": metav1.Now()}}
	case job.Status.Active == 0 && len(job.Status.Conditions) == 0:
		wait := clusterTakes
		if agent == late {
			wait = podsTake
		}
		return clusterStep{"pod", wait, values{"active": 1, "ready": 1}}
	case len(job.Status.Conditions) > 0:
		first := job.Status.Conditions[0]
		return clusterStep{"finish", clusterTakes, finish(first)}
	}
	return podEnds(job, agent)
}

func podEnds(job *batchv1.Job, agent string) clusterStep {
	met := condition(batchv1.JobSuccessCriteriaMet, "CompletionsReached", "Reached expected number of succeeded pods")
	ends := values{"active": 0, "ready": 0, "succeeded": 1}
	wait := agentTakes
	switch {
	case agent == fails:
		met = condition(batchv1.JobFailureTarget, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
		ends = values{"active": 0, "ready": 0, "failed": 1}
	case agent != never:
	case job.Spec.ActiveDeadlineSeconds == nil:
		return clusterStep{}
	default:
		wait = time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second
		met = condition(batchv1.JobFailureTarget, "DeadlineExceeded", "Job was active longer than specified deadline")
		ends = values{"active": 0, "ready": 0, "failed": 1}
	}
	ends["conditions"] = []any{met}
	return clusterStep{"end", wait, ends}
}

func condition(kind batchv1.JobConditionType, reason, message string) batchv1.JobCondition {
	return batchv1.JobCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	}
}

// finish is the last write of the Job controller.
func finish(first batchv1.JobCondition) values {
	last := condition(batchv1.JobComplete, first.Reason, first.Message)
	patch := values{}
	if first.Type == batchv1.JobFailureTarget {
		last.Type = batchv1.JobFailed
	} else {
		patch["completionTime"] = metav1.Now()
	}
	patch["conditions"] = []any{first, last}
	return patch
}

// finished returns how and when a Job finished. The kind of an unfinished Job
// is empty.
func finished(job *batchv1.Job) (kind batchv1.JobConditionType, at time.Time) {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
			return c.Type, c.LastTransitionTime.Time
		}
	}
	return "", time.Time{}
}

// clusterReacts is called with each change. It starts the timer of what
// Kubernetes does next.
func clusterReacts(s *server, c change) {
	if c.base() == jobs && c.kind != watch.Deleted {
		step := nextStep(as[batchv1.Job](c.object), time.Now())
		if step.name != "" {
			time.AfterFunc(step.after, func() { takeStep(s, c.object, step.name) })
		}
	}
	if c.kind != watch.Modified {
		time.AfterFunc(clusterTakes, func() { collectGarbage(s) })
	}
}

// takeStep makes the step if it is still the next one of the Job.
func takeStep(s *server, seen *object, name string) {
	s.mu.Lock()
	stored := s.objects[key{jobs, seen.GetName()}]
	s.mu.Unlock()
	if stored == nil || stored.GetUID() != seen.GetUID() {
		return
	}
	step := nextStep(as[batchv1.Job](stored), time.Now())
	switch {
	case step.name != name:
	case step.patch == nil:
		s.do(byCluster, "delete", jobs, "", seen.GetName(), nil)
	default:
		s.do(byCluster, "patch", jobs, "status", seen.GetName(), values{"status": step.patch})
	}
}

// collectGarbage deletes the objects whose owners do not exist.
func collectGarbage(s *server) {
	exists := map[string]bool{}
	var orphans []key
	s.mu.Lock()
	for _, o := range s.objects {
		exists[string(o.GetUID())] = true
	}
	for k, o := range s.objects {
		owners := o.GetOwnerReferences()
		if len(owners) == 1 && !exists[string(owners[0].UID)] && o.GetDeletionTimestamp() == nil {
			orphans = append(orphans, k)
		}
	}
	s.mu.Unlock()
	for _, k := range orphans {
		s.do(byCluster, "delete", k.resource, "", k.name, nil)
	}
}

// as returns a typed copy of an object.
func as[T any](o *object) *T {
	typed := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", o.GetName(), err))
	}
	return typed
}
