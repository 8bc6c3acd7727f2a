// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// PromotePatch is the merge patch for the status subresource that lets a canary
// go on, as the kubectl plugin does: from a pause or a running analysis to the
// next step, or, if full, past all remaining steps. Send it as
// types.MergePatchType to "status".
//
// The patch is pinned to live's resourceVersion, so it promotes what you looked
// at, and conflicts if the Rollout has changed. Without a resourceVersion in
// live it is not pinned. Nil means that there is nothing to promote:
//   - the Rollout is nil, or it runs a single version, or it was aborted;
//   - the canary has no steps and no pause;
//   - it was promoted, and the controller has yet to move it: the plugin would
//     skip a step;
//   - spec.paused holds it: the plugin would skip its steps. [PhaseOf] says
//     Paused for it too. Clear that field in its manifest.
func PromotePatch(live *unstructured.Unstructured, full bool) []byte {
	if live == nil {
		return nil
	}
	status := object(live.Object["status"])
	held, _ := object(live.Object["spec"])["paused"].(bool)
	aborted, _ := status["abort"].(bool)
	stable := text(status["stableRS"])
	oneVersion := stable == "" || text(status["currentPodHash"]) == stable
	if held || aborted || oneVersion {
		return nil
	}
	if full {
		return pinned(live, map[string]any{"promoteFull": true})
	}
	controllerPause, _ := status["controllerPause"].(bool)
	pauses := list(status["pauseConditions"])
	next := min(number(status["currentStepIndex"])+1, int64(len(steps(live))))
	analysis := object(object(status["canary"])["currentStepAnalysisRunStatus"])
	switch {
	case controllerPause && len(pauses) == 0:
		return nil
	case controllerPause && text(analysis["status"]) == "Inconclusive":
		// Clearing the pause alone would leave the controller stuck if the next
		// step is a pause too.
		return pinned(live, map[string]any{
			"pauseConditions": nil, "controllerPause": false, "currentStepIndex": next,
		})
	case len(pauses) > 0:
		return pinned(live, map[string]any{"pauseConditions": nil})
	case len(steps(live)) == 0:
		return nil
	}
	return pinned(live, map[string]any{"pauseConditions": nil, "currentStepIndex": next})
}

// AbortPatch is the merge patch for the status subresource that goes back to
// the old version. It is not pinned to anything: an abort must not lose a race.
// The Rollout is Degraded until its template is put back, and then Healthy
// immediately.
func AbortPatch() []byte { return []byte(`{"status":{"abort":true}}`) }

func steps(live *unstructured.Unstructured) []any {
	canary := object(object(object(live.Object["spec"])["strategy"])["canary"])
	return list(canary["steps"])
}

func pinned(live *unstructured.Unstructured, status map[string]any) []byte {
	patch := map[string]any{"status": status}
	if rv := live.GetResourceVersion(); rv != "" {
		patch["metadata"] = map[string]any{"resourceVersion": rv}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil // not reached: the values are strings, numbers and nil
	}
	return data
}
