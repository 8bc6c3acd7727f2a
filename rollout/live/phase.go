// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
)

// Phase is the state of a live Rollout: NotObserved, Progressing, Paused,
// Degraded, Healthy or Invalid.
type Phase string

// The states. Only if a Rollout is Healthy do all its pods run the version of
// its template.
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
	// Healthy says that all pods run this version.
	Healthy Phase = "Healthy"
)

// PhaseOf returns the phase of a live Rollout and a message that explains it.
// It trusts a status only if status.observedGeneration equals the generation of
// the object. A nil object, or one of another kind, is NotObserved.
//
// status.phase alone may be of the template before, also when the controller
// has seen the generation. PhaseOf reads the conditions too:
//   - If Progressing is False, the phase is Degraded, with the reason and the
//     message of the condition. An example: the API server refuses the
//     ReplicaSet of a new template, because of a quota, a policy, a webhook that
//     does not answer or an illegal label. The controller then leaves
//     status.phase unchanged, such as Healthy, past every deadline.
//   - If the controller has just created the ReplicaSet, the phase is
//     Progressing: the rest of the status is of the template before.
//   - Healthy needs the conditions Healthy and Progressing, with the reason
//     NewReplicaSetAvailable. The controller writes a new generation first, and
//     looks at its template later.
//
// One case is left: a new template that comes at a pause shows that pause once
// more, for the moment until the controller has looked at the template.
//
// Other errors of the controller leave no trace. The phase is NotObserved then,
// because the controller has not recorded the generation. An example is a
// Rollout with a workloadRef whose ReplicaSet is refused.
func PhaseOf(live *unstructured.Unstructured) (Phase, string) {
	if live == nil {
		return NotObserved, "there is no Rollout"
	}
	kind := live.GetKind()
	if kind != "" && kind != rollout.GVK().Kind {
		return NotObserved, fmt.Sprintf("the object is of kind %s, not %s", kind, rollout.GVK().Kind)
	}
	status := object(live.Object["status"])
	if message := unseen(live, status); message != "" {
		return NotObserved, message
	}
	invalid := condition(status, "InvalidSpec")
	if invalid != nil && text(invalid["status"]) != "False" {
		return Invalid, text(invalid["message"])
	}
	progressing := condition(status, "Progressing")
	if text(progressing["status"]) == "False" {
		return Degraded, stopped(progressing)
	}
	paused, _ := status["controllerPause"].(bool)
	if paused && len(list(status["pauseConditions"])) == 0 {
		return Progressing, "promoted; the controller has yet to go on"
	}
	if text(progressing["reason"]) == "NewReplicaSetCreated" {
		return Progressing, text(progressing["message"])
	}
	switch phase := Phase(text(status["phase"])); phase {
	case Healthy:
		return finished(status, progressing)
	case Progressing, Paused, Degraded:
		return phase, text(status["message"])
	default:
		return Progressing, fmt.Sprintf("phase %q", phase)
	}
}

// finished is the phase of a status that says Healthy. Releases before 1.2 have
// no condition Healthy.
func finished(status, progressing map[string]any) (Phase, string) {
	if progressing != nil && text(progressing["reason"]) != "NewReplicaSetAvailable" {
		return Progressing, text(progressing["message"])
	}
	healthy := condition(status, "Healthy")
	if healthy != nil && text(healthy["status"]) != "True" {
		return Progressing, text(healthy["message"])
	}
	return Healthy, text(status["message"])
}

// unseen says why the status is of an older object, or returns "".
func unseen(live *unstructured.Unstructured, status map[string]any) string {
	observed := text(status["observedGeneration"])
	if observed == "" {
		return "no controller has seen it"
	}
	generation := number(object(live.Object["metadata"])["generation"])
	if observed != strconv.FormatInt(generation, 10) {
		return fmt.Sprintf("the controller has seen generation %s of %d", observed, generation)
	}
	// With a workloadRef the template is another object's, which has separate
	// generations.
	if object(live.Object["spec"])["workloadRef"] == nil {
		return ""
	}
	want := live.GetAnnotations()["rollout.argoproj.io/workload-generation"]
	seen := text(status["workloadObservedGeneration"])
	if want != "" && seen != "" && seen != want {
		return fmt.Sprintf("the controller has seen generation %s of %s of the workload", seen, want)
	}
	return ""
}

// stopped says why the controller makes no progress.
func stopped(progressing map[string]any) string {
	reason := text(progressing["reason"])
	if reason == "" {
		return "condition Progressing is False"
	}
	return reason + ": " + text(progressing["message"])
}

// condition is the one of this type, or nil.
func condition(status map[string]any, kind string) map[string]any {
	for _, c := range list(status["conditions"]) {
		c := object(c)
		if text(c["type"]) == kind {
			return c
		}
	}
	return nil
}

// A live object may hold anything.

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64, float64, int:
		return fmt.Sprint(v)
	}
	return ""
}

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case int:
		return int64(v)
	case float64:
		return int64(v)
	}
	return 0
}
