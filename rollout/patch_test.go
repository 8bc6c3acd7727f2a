// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
)

func TestPromotePatch(t *testing.T) {
	const two = `"currentPodHash":"b","stableRS":"a",`
	cases := map[string]struct {
		reason string
		status string
		full   bool
		want   string // the status of the patch; "" for none
	}{
		"AtAPause":           {"The controller goes on once the condition is gone.", `{` + two + `"controllerPause":true,"pauseConditions":[{"reason":"CanaryPauseStep","startTime":"2026-01-02T03:04:05Z"}],"currentStepIndex":1}`, false, `{"pauseConditions":null}`},
		"AtAnAnalysis":       {"On to the next step.", `{` + two + `"currentStepIndex":2}`, false, `{"pauseConditions":null,"currentStepIndex":3}`},
		"AtTheFirstStep":     {"An index that is not set is 0.", `{` + two + `"abort":false}`, false, `{"pauseConditions":null,"currentStepIndex":1}`},
		"AtTheLastStep":      {"No further than the steps go.", `{` + two + `"currentStepIndex":4}`, false, `{"pauseConditions":null,"currentStepIndex":4}`},
		"Inconclusive":       {"All three, or it hangs if the next step is a pause.", `{` + two + `"controllerPause":true,"pauseConditions":[{"reason":"InconclusiveAnalysisRun","startTime":null}],"currentStepIndex":2,"canary":{"currentStepAnalysisRunStatus":{"status":"Inconclusive"}}}`, false, `{"pauseConditions":null,"controllerPause":false,"currentStepIndex":3}`},
		"AlreadyPromoted":    {"The plugin would skip the step after it.", `{` + two + `"controllerPause":true,"currentStepIndex":1}`, false, ""},
		"Aborted":            {"The old version runs again until the template is put back.", `{` + two + `"abort":true,"currentStepIndex":0}`, false, ""},
		"NothingToPromote":   {"One version has nothing to promote.", `{"currentPodHash":"a","stableRS":"a","currentStepIndex":4}`, false, ""},
		"NothingYet":         {"The first version of all.", `{"currentPodHash":"a"}`, false, ""},
		"NoStatus":           {"No controller has seen it.", `{}`, false, ""},
		"Full":               {"A full promotion skips the remaining steps.", `{` + two + `"controllerPause":true,"pauseConditions":[{"reason":"x","startTime":null}]}`, true, `{"promoteFull":true}`},
		"FullAndNothingLeft": {"One version has nothing to promote.", `{"currentPodHash":"a","stableRS":"a"}`, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := withStatus(t, tc.status)
			before := r.DeepCopy()
			got := rollout.PromotePatch(r, tc.full)
			assert.Equal(t, before, r)
			if tc.want == "" {
				assert.Nil(t, got, tc.reason)
				return
			}
			assert.JSONEq(t, `{"metadata":{"resourceVersion":"77"},"status":`+tc.want+`}`, string(got), tc.reason)
		})
	}
	assert.Nil(t, rollout.PromotePatch(nil, false))
	assert.Nil(t, rollout.PromotePatch(new(rollout.Rollout), true))
}

// TestPromotePatch_NotIfSpecIsPaused: the usual tool asks for the phase,
// patches and asks again: each time one step more would be skipped, and all of
// them together when the field is cleared.
//
//req:shows R3
func TestPromotePatch_NotIfSpecIsPaused(t *testing.T) {
	r := withStatus(t, `{"currentPodHash":"b","stableRS":"a","currentStepIndex":0,"observedGeneration":"2"}`)
	require.NotNil(t, rollout.PromotePatch(r, false))
	r.Spec.Paused = true
	assert.Nil(t, rollout.PromotePatch(r, false))
	assert.Nil(t, rollout.PromotePatch(r, true))
}

func TestPromotePatch_BlueGreenAndNoSteps(t *testing.T) {
	r := read(t, `{"spec":{"strategy":{"blueGreen":{"activeService":"a"}}},"status":{"currentPodHash":"b","stableRS":"a","pauseConditions":[{"reason":"x"}],"controllerPause":true}}`)
	assert.JSONEq(t, `{"status":{"pauseConditions":null}}`, string(rollout.PromotePatch(r, false)), "not pinned without a resourceVersion")
	r.Status.PauseConditions = nil
	r.Status.ControllerPause = false
	assert.Nil(t, rollout.PromotePatch(r, false), "it has no step to skip")
}

// TestPatches: each is pinned to what was read, and there is none for nothing
// to do.
func TestPatches(t *testing.T) {
	const pinned = `{"metadata":{"resourceVersion":"77"},`
	canary := withStatus(t, `{"currentPodHash":"b","stableRS":"a"}`)
	aborted := withStatus(t, `{"currentPodHash":"b","stableRS":"a","abort":true}`)
	stable := withStatus(t, `{"currentPodHash":"a","stableRS":"a"}`)
	assert.JSONEq(t, pinned+`"status":{"abort":true}}`, string(rollout.AbortPatch(canary)))
	assert.Nil(t, rollout.AbortPatch(aborted), "it was aborted")
	assert.Nil(t, rollout.AbortPatch(stable), "there is one version")
	assert.Nil(t, rollout.AbortPatch(nil))

	assert.JSONEq(t, pinned+`"status":{"abort":false}}`, string(rollout.RetryPatch(aborted)))
	assert.Nil(t, rollout.RetryPatch(canary), "it was not aborted")
	assert.Nil(t, rollout.RetryPatch(nil))
}
