// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// State is where a live Rollout stands.
type State string

// The states. Only of a Healthy Rollout is every pod of the version that its template asks for.
const (
	NotObserved State = "NotObserved" // the controller has not seen this generation; if it stays so, none runs for it
	Invalid     State = "Invalid"     // the controller refuses the spec
	Progressing State = "Progressing" // pods are being replaced
	Paused      State = "Paused"      // at a step, or by spec.paused: a person or a time must pass
	Degraded    State = "Degraded"    // aborted, or the new version is not ready in time
	Healthy     State = "Healthy"     // all pods run this version
)

// Phase reads a live Rollout: where it stands and why. It trusts a status only if status.observedGeneration, which is a string
// here, is the generation of the object: the phase of an older spec says nothing. A nil or foreign object is NotObserved.
func Phase(live *unstructured.Unstructured) (State, string) {
	if live == nil {
		return NotObserved, "there is no Rollout"
	}
	status := object(live.Object["status"])
	if message := unseen(live, status); message != "" {
		return NotObserved, message
	}
	if c := condition(status, "InvalidSpec"); c != nil {
		return Invalid, text(c["message"])
	}
	if pause, _ := status["controllerPause"].(bool); pause && len(list(status["pauseConditions"])) == 0 {
		return Progressing, "promoted; the controller has yet to go on"
	}
	switch phase := State(text(status["phase"])); phase {
	case Progressing, Paused, Degraded, Healthy:
		return phase, text(status["message"])
	default:
		return Progressing, fmt.Sprintf("phase %q", phase)
	}
}

// unseen says why the status is not that of the object as it is.
func unseen(live *unstructured.Unstructured, status map[string]any) string {
	observed := text(status["observedGeneration"])
	if observed == "" {
		return "no controller has seen it"
	}
	if observed != strconv.FormatInt(live.GetGeneration(), 10) {
		return fmt.Sprintf("the controller has seen generation %s of %d", observed, live.GetGeneration())
	}
	// With a workloadRef the template is another object's, which has generations of its own.
	want, seen := live.GetAnnotations()["rollout.argoproj.io/workload-generation"], text(status["workloadObservedGeneration"])
	if _, refers := object(live.Object["spec"])["workloadRef"]; refers && want != "" && seen != "" && seen != want {
		return fmt.Sprintf("the controller has seen generation %s of %s of the workload", seen, want)
	}
	return ""
}

func condition(status map[string]any, kind string) map[string]any {
	for _, c := range list(status["conditions"]) {
		if c := object(c); text(c["type"]) == kind && text(c["status"]) != "False" {
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
