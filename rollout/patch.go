// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// PromotePatch is the merge patch for the status subresource that lets a canary
// go on, as the kubectl plugin does: from a pause or a running analysis to the
// next step, or, if full, past all remaining steps. Send it as
// types.MergePatchType to "status".
//
// This patch and the two below are pinned to the resourceVersion of r: they
// change what you looked at, and conflict if the Rollout has changed since.
// Then read it again. Without a resourceVersion they are not pinned. Nil means
// that there is nothing to promote:
//   - r is nil, or it runs a single version, or it was aborted;
//   - the canary has no steps and no pause;
//   - it was promoted, and the controller has yet to move it: the plugin would
//     skip a step;
//   - spec.paused holds it: the plugin would skip its steps. [PhaseOf] says
//     Paused for it too. Clear that field in its manifest.
func PromotePatch(r *Rollout, full bool) []byte {
	if !r.twoVersions() || r.Spec.Paused || r.Status.Abort {
		return nil
	}
	if full {
		return r.pinned(map[string]any{"promoteFull": true})
	}
	s := &r.Status
	steps := int32(0)
	if r.Spec.Strategy.Canary != nil {
		steps = int32(len(r.Spec.Strategy.Canary.Steps))
	}
	next := int32(1)
	if s.CurrentStepIndex != nil {
		next = *s.CurrentStepIndex + 1
	}
	next = min(next, steps)
	analysis, _, _ := unstructured.NestedString(s.Canary, "currentStepAnalysisRunStatus", "status")
	switch {
	case s.ControllerPause && len(s.PauseConditions) == 0:
		return nil
	case s.ControllerPause && analysis == "Inconclusive":
		// Clearing the pause alone would leave the controller stuck if the next
		// step is a pause too.
		return r.pinned(map[string]any{
			"pauseConditions": nil, "controllerPause": false, "currentStepIndex": next,
		})
	case len(s.PauseConditions) > 0:
		return r.pinned(map[string]any{"pauseConditions": nil})
	case steps == 0:
		return nil
	}
	return r.pinned(map[string]any{"pauseConditions": nil, "currentStepIndex": next})
}

// AbortPatch is the merge patch for the status subresource that goes back to
// the old version. The Rollout is Degraded until its template is put back, and
// then Healthy immediately. Nil means that there is nothing to abort: r is nil,
// runs a single version, or was aborted.
func AbortPatch(r *Rollout) []byte {
	if !r.twoVersions() || r.Status.Abort {
		return nil
	}
	return r.pinned(map[string]any{"abort": true})
}

// RetryPatch is the merge patch for the status subresource that begins an
// aborted canary again, at its first step. Nil means that r is nil or was not
// aborted.
func RetryPatch(r *Rollout) []byte {
	if r == nil || !r.Status.Abort {
		return nil
	}
	return r.pinned(map[string]any{"abort": false})
}

// twoVersions reports whether an update is in progress.
func (r *Rollout) twoVersions() bool {
	return r != nil && r.Status.StableRS != "" && r.Status.CurrentPodHash != r.Status.StableRS
}

func (r *Rollout) pinned(status map[string]any) []byte {
	patch := map[string]any{"status": status}
	if r.ResourceVersion != "" {
		patch["metadata"] = map[string]any{"resourceVersion": r.ResourceVersion}
	}
	data, _ := json.Marshal(patch) // never fails: the values are strings, numbers and nil
	return data
}
