// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strconv"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Phase says how far a live Rollout is.
type Phase string

// The phases. Only if a Rollout is Healthy do all users have the version of its
// template. NotObserved and Invalid are [PhaseOf]'s; the controller writes the
// others into the status.
const (
	// NotObserved says that the controller has not seen this generation, or not
	// recorded that it has. If it stays so, none runs, or its log says why.
	NotObserved Phase = "NotObserved"
	// Invalid says that the controller refuses the spec.
	Invalid Phase = "Invalid"
	// Progressing says that pods are being replaced.
	Progressing Phase = "Progressing"
	// Paused says that a person or a time must pass, at a step or by
	// spec.paused.
	Paused Phase = "Paused"
	// Degraded says that the new version was aborted or is not ready in time,
	// or that the controller cannot create its ReplicaSet.
	Degraded Phase = "Degraded"
	// Healthy says that all users have this version.
	Healthy Phase = "Healthy"
)

// PhaseOf returns the phase of a live Rollout and a message that explains it.
// It trusts a status only if the controller has seen the generation of the
// object. Without one, and for nil, the phase is NotObserved.
//
// workloadGeneration is 0, unless the Rollout has a workloadRef: then it is the
// metadata.generation of that object. Read the object before the Rollout.
//
// A status of this generation may still have the phase of the template before.
// So PhaseOf reads the conditions:
//   - If Progressing is False, the phase is Degraded, with the reason and the
//     message of the condition. An example: the API server refuses the
//     ReplicaSet of a new template. The controller then leaves status.phase
//     unchanged, such as Healthy, past every deadline.
//   - If the controller has just created the ReplicaSet, the phase is
//     Progressing: the rest of the status is of the template before.
//   - Healthy needs the conditions Healthy and Progressing, with the reason
//     NewReplicaSetAvailable. With trafficRouting it needs neither while the old
//     pods stay for scaleDownDelaySeconds.
//   - ReplicaFailure, such as an exceeded quota, is added to the message.
//
// One case is left: a new template that comes at a pause shows that pause
// again, until the controller has looked at the template.
func PhaseOf(r *Rollout, workloadGeneration int64) (Phase, string) {
	if r == nil {
		return NotObserved, "there is no Rollout"
	}
	message := r.unseen(workloadGeneration)
	if message != "" {
		return NotObserved, message
	}
	phase, message := r.observed()
	return phase, r.Status.withFailure(message)
}

// observed is the phase of a status of this generation.
func (r *Rollout) observed() (Phase, string) {
	s := &r.Status
	invalid := s.condition("InvalidSpec")
	if invalid != nil && invalid.Status != metav1.ConditionFalse {
		return Invalid, invalid.Message
	}
	progressing := ptr.Deref(s.condition("Progressing"), metav1.Condition{})
	switch {
	case progressing.Status == metav1.ConditionFalse:
		return Degraded, reasonAnd(&progressing)
	case s.ControllerPause && len(s.PauseConditions) == 0:
		return Progressing, "promoted; the controller has yet to go on"
	case progressing.Reason == "NewReplicaSetCreated":
		return Progressing, progressing.Message
	case s.Phase == Healthy:
		return r.finished(&progressing)
	case s.Phase == Paused, s.Phase == Progressing, s.Phase == Degraded:
		return s.Phase, s.Message
	default:
		return Progressing, fmt.Sprintf("phase %q", s.Phase)
	}
}

// finished is the phase of a status that says Healthy. Releases before 1.2 have
// no condition Healthy.
func (r *Rollout) finished(progressing *metav1.Condition) (Phase, string) {
	s := &r.Status
	healthy := ptr.Deref(s.condition("Healthy"), metav1.Condition{Status: metav1.ConditionTrue})
	complete := progressing.Reason == "" || progressing.Reason == "NewReplicaSetAvailable"
	if complete && healthy.Status == metav1.ConditionTrue {
		return Healthy, s.Message
	}
	// The condition is False while more pods run than there are replicas.
	canary := r.Spec.Strategy.Canary
	routed := canary != nil && canary.TrafficRouting != nil
	if routed && progressing.Reason == "ReplicaSetUpdated" && s.StableRS == s.CurrentPodHash {
		return Healthy, "the old pods stay for scaleDownDelaySeconds"
	}
	if complete {
		return Progressing, healthy.Message
	}
	return Progressing, progressing.Message
}

// unseen says why the status is of an older object, or returns "".
func (r *Rollout) unseen(workloadGeneration int64) string {
	s := &r.Status
	if s.ObservedGeneration == "" {
		return "no controller has seen it"
	}
	if s.ObservedGeneration != strconv.FormatInt(r.Generation, 10) {
		return fmt.Sprintf("the controller has seen generation %s of %d", s.ObservedGeneration, r.Generation)
	}
	ref := r.Spec.WorkloadRef
	if ref == nil {
		return ""
	}
	if workloadGeneration == 0 {
		return fmt.Sprintf("%v %v has the template; pass its generation", ref["kind"], ref["name"])
	}
	if s.WorkloadObservedGeneration != strconv.FormatInt(workloadGeneration, 10) {
		return fmt.Sprintf("the controller has seen generation %s of %d of %v %v",
			s.WorkloadObservedGeneration, workloadGeneration, ref["kind"], ref["name"])
	}
	return ""
}

func (s *Status) condition(kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(s.Conditions, kind)
}

// withFailure adds why pods cannot be created.
func (s *Status) withFailure(message string) string {
	failure := s.condition("ReplicaFailure")
	if failure == nil || failure.Status != metav1.ConditionTrue {
		return message
	}
	if message != "" {
		message += "; "
	}
	return message + reasonAnd(failure)
}

func reasonAnd(c *metav1.Condition) string {
	if c.Reason == "" {
		return "condition " + c.Type + " is " + string(c.Status)
	}
	return c.Reason + ": " + c.Message
}
