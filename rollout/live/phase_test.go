// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

func object(tb testing.TB, s string) *unstructured.Unstructured {
	tb.Helper()
	u := new(unstructured.Unstructured)
	require.NoError(tb, u.UnmarshalJSON([]byte(s)))
	return u
}

func withStatus(tb testing.TB, status string) *unstructured.Unstructured {
	tb.Helper()
	return object(tb, `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"web","generation":2,"resourceVersion":"77"},
		"spec":{"strategy":{"canary":{"steps":[{"setWeight":20},{"pause":{}},{"setWeight":50},{"pause":{}}]}}},"status":`+status+`}`)
}

// refusedReplicaSet is the status after the API server has refused the
// ReplicaSet of a new template, as the controller of v1.10.1 writes it: the
// generation is observed, and the rest is of the version before.
func refusedReplicaSet(phase string) string {
	return `{"HPAReplicas":5,"availableReplicas":5,"blueGreen":{},"canary":{},"conditions":[
		{"type":"Paused","status":"False","reason":"RolloutPaused","message":"Rollout is paused"},
		{"type":"Available","status":"True","reason":"AvailableReason","message":"Rollout has minimum availability"},
		{"type":"Completed","status":"True","reason":"RolloutCompleted","message":"RolloutCompleted"},
		{"type":"Healthy","status":"True","reason":"RolloutHealthy","message":"Rollout is healthy"},
		{"type":"Progressing","status":"False","reason":"ReplicaSetCreateError",
			"message":"Failed to create new replica set \"web-6c\": replicasets.apps \"web-6c\" is forbidden: no such image"}],
		"currentPodHash":"5d","currentStepHash":"7b","currentStepIndex":4,"observedGeneration":"2","phase":"` + phase + `",
		"readyReplicas":5,"replicas":5,"selector":"app=web","stableRS":"5d","updatedReplicas":5}`
}

// conditions is a status of v1.10.1.
func conditions(phase, progressing, healthy string) string {
	return `{"conditions":[
		{"type":"Progressing","status":"True","reason":"` + progressing + `","message":"ReplicaSet \"web-6c\""},
		{"type":"Healthy","status":"` + healthy + `","reason":"RolloutHealthy","message":"Rollout is not healthy"}],
		"currentPodHash":"5d","observedGeneration":"2","phase":"` + phase + `","stableRS":"5d"}`
}

func TestPhase(t *testing.T) {
	cases := map[string]struct {
		reason  string
		status  string
		want    live.Phase
		message string
	}{
		"NoController":      {"A Rollout without a controller has an empty status.", `{}`, live.NotObserved, "no controller"},
		"OldGeneration":     {"Healthy is what it was.", `{"observedGeneration":"1","phase":"Healthy"}`, live.NotObserved, "generation 1 of 2"},
		"NewerGeneration":   {"A restored object: nothing is known of this one.", `{"observedGeneration":"9","phase":"Healthy"}`, live.NotObserved, "generation 9 of 2"},
		"ObservedAsANumber": {"As other kinds write it.", `{"observedGeneration":2,"phase":"Healthy"}`, live.Healthy, ""},
		"ObservedAsAHash":   {"As releases before 0.10 wrote it.", `{"observedGeneration":"7d9f","phase":"Healthy"}`, live.NotObserved, "7d9f"},
		"Healthy":           {"All pods are of this version.", `{"observedGeneration":"2","phase":"Healthy"}`, live.Healthy, ""},
		"Paused":            {"With the reason.", `{"observedGeneration":"2","phase":"Paused","message":"CanaryPauseStep"}`, live.Paused, "CanaryPauseStep"},
		"Degraded":          {"With the reason.", `{"observedGeneration":"2","phase":"Degraded","message":"ProgressDeadlineExceeded: x"}`, live.Degraded, "ProgressDeadlineExceeded"},
		"Progressing":       {"With the reason.", `{"observedGeneration":"2","phase":"Progressing","message":"more replicas need to be updated"}`, live.Progressing, "more replicas"},
		"Invalid":           {"Upstream calls it Degraded.", `{"observedGeneration":"2","phase":"Degraded","conditions":[{"type":"InvalidSpec","status":"True","message":"no"}]}`, live.Invalid, "no"},
		"NoLongerInvalid":   {"The condition is False.", `{"observedGeneration":"2","phase":"Healthy","conditions":[{"type":"InvalidSpec","status":"False"}]}`, live.Healthy, ""},
		"Unpausing":         {"Promoted, and the controller has yet to act.", `{"observedGeneration":"2","phase":"Paused","controllerPause":true}`, live.Progressing, "promoted"},
		"Refused":           {"No pod has this version: its ReplicaSet was refused.", refusedReplicaSet("Healthy"), live.Degraded, "ReplicaSetCreateError: Failed to create new replica set"},
		"RefusedAtAPause":   {"The pause is of the version before.", refusedReplicaSet("Paused"), live.Degraded, "ReplicaSetCreateError"},
		"RefusedAtFirst":    {"It makes no progress, past every deadline.", refusedReplicaSet("Progressing"), live.Degraded, "ReplicaSetCreateError"},
		"RefusedPromoted":   {"The controller does nothing before it has the ReplicaSet.", strings.Replace(refusedReplicaSet("Paused"), "{", `{"controllerPause":true,`, 1), live.Degraded, "ReplicaSetCreateError"},
		"NotProgressing":    {"The reason does not count.", `{"observedGeneration":"2","phase":"Healthy","conditions":[{"type":"Progressing","status":"False","reason":"Dreaming","message":"no"}]}`, live.Degraded, "Dreaming: no"},
		"NoReason":          {"The type of the condition remains.", `{"observedGeneration":"2","phase":"Healthy","conditions":[{"type":"Progressing","status":"False"}]}`, live.Degraded, "Progressing is False"},
		"RefusedAndInvalid": {"The spec comes first.", `{"observedGeneration":"2","conditions":[{"type":"Progressing","status":"False"},{"type":"InvalidSpec","status":"True","message":"no"}]}`, live.Invalid, "no"},
		"RefusedBefore":     {"Another generation is not judged by it.", strings.Replace(refusedReplicaSet("Healthy"), `"2"`, `"1"`, 1), live.NotObserved, "generation 1 of 2"},
		"JustCreated":       {"The ReplicaSet was refused, and now is there. The rest is of the version before.", conditions("Healthy", "NewReplicaSetCreated", "True"), live.Progressing, "web-6c"},
		"CreatedAtAPause":   {"The pause is of the version before.", conditions("Paused", "NewReplicaSetCreated", "False"), live.Progressing, "web-6c"},
		"FewerReplicas":     {"Scaled first; the template comes next.", conditions("Healthy", "ReplicaSetNotAvailable", "False"), live.Progressing, "web-6c"},
		"Resumed":           {"Only spec.paused was looked at.", conditions("Healthy", "NewReplicaSetAvailable", "False"), live.Progressing, "is not healthy"},
		"HealthyInAll":      {"As the controller writes it in the end.", conditions("Healthy", "NewReplicaSetAvailable", "True"), live.Healthy, ""},
		"PausedInAll":       {"As the controller writes it at a step.", conditions("Paused", "RolloutPaused", "False"), live.Paused, ""},
		"PausedByTheSpec":   {"All pods are of one version.", conditions("Paused", "NewReplicaSetAvailable", "False"), live.Paused, ""},
		"UnknownPhase":      {"Of a newer release.", `{"observedGeneration":"2","phase":"Dreaming"}`, live.Progressing, "Dreaming"},
		"OddStatus":         {"A status of wrong types is not read.", `{"observedGeneration":["2"],"phase":3,"conditions":"x"}`, live.NotObserved, "no controller"},
		"StatusIsAString":   {"A status of a wrong type is not read.", `"x"`, live.NotObserved, "no controller"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state, message := live.PhaseOf(withStatus(t, tc.status))
			assert.Equal(t, tc.want, state, tc.reason)
			assert.Contains(t, message, tc.message, tc.reason)
		})
	}
	state, _ := live.PhaseOf(nil)
	assert.Equal(t, live.NotObserved, state)
	state, _ = live.PhaseOf(new(unstructured.Unstructured))
	assert.Equal(t, live.NotObserved, state)
}

// The status of another kind has the same fields and other meanings.
func TestPhase_OfAnotherKind(t *testing.T) {
	for _, kind := range []string{"Deployment", "Application"} {
		u := withStatus(t, `{"observedGeneration":2,"phase":"Healthy"}`)
		u.SetKind(kind)
		state, message := live.PhaseOf(u)
		assert.Equal(t, live.NotObserved, state, kind)
		assert.Equal(t, "the object is of kind "+kind+", not Rollout", message)
	}
}

// TestPhase_OfDecodedJSON: encoding/json reads each number as a float64.
func TestPhase_OfDecodedJSON(t *testing.T) {
	raw, err := json.Marshal(withStatus(t, `{"observedGeneration":"2","phase":"Healthy"}`).Object)
	require.NoError(t, err)
	u := new(unstructured.Unstructured)
	require.NoError(t, json.Unmarshal(raw, &u.Object))
	state, message := live.PhaseOf(u)
	assert.Equal(t, live.Healthy, state, message)
}

func TestPhase_WithAWorkloadRef(t *testing.T) {
	u := withStatus(t, `{"observedGeneration":"2","phase":"Healthy","workloadObservedGeneration":"3"}`)
	u.SetAnnotations(map[string]string{"rollout.argoproj.io/workload-generation": "4"})
	state, _ := live.PhaseOf(u)
	assert.Equal(t, live.Healthy, state, "it refers to nothing")

	require.NoError(t, unstructured.SetNestedMap(u.Object, map[string]any{"name": "web"}, "spec", "workloadRef"))
	state, message := live.PhaseOf(u)
	assert.Equal(t, live.NotObserved, state, "the template changed in the Deployment")
	assert.Contains(t, message, "3 of 4")

	u.SetAnnotations(map[string]string{"rollout.argoproj.io/workload-generation": "3"})
	state, _ = live.PhaseOf(u)
	assert.Equal(t, live.Healthy, state)
}

func TestPromotePatch(t *testing.T) {
	const two = `"currentPodHash":"b","stableRS":"a",`
	cases := map[string]struct {
		reason string
		status string
		full   bool
		want   string // the status of the patch; "" for none
	}{
		"AtAPause":           {"The controller goes on once the condition is gone.", `{` + two + `"controllerPause":true,"pauseConditions":[{"reason":"CanaryPauseStep"}],"currentStepIndex":1}`, false, `{"pauseConditions":null}`},
		"AtAnAnalysis":       {"On to the next step.", `{` + two + `"currentStepIndex":2}`, false, `{"pauseConditions":null,"currentStepIndex":3}`},
		"AtTheFirstStep":     {"An index that is not set is 0.", `{` + two + `"x":1}`, false, `{"pauseConditions":null,"currentStepIndex":1}`},
		"AtTheLastStep":      {"No further than the steps go.", `{` + two + `"currentStepIndex":4}`, false, `{"pauseConditions":null,"currentStepIndex":4}`},
		"Inconclusive":       {"All three, or it hangs if the next step is a pause.", `{` + two + `"controllerPause":true,"pauseConditions":[{"reason":"InconclusiveAnalysisRun"}],"currentStepIndex":2,"canary":{"currentStepAnalysisRunStatus":{"status":"Inconclusive"}}}`, false, `{"pauseConditions":null,"controllerPause":false,"currentStepIndex":3}`},
		"AlreadyPromoted":    {"The plugin would skip the step after it.", `{` + two + `"controllerPause":true,"currentStepIndex":1}`, false, ""},
		"Aborted":            {"The old version runs again until the template is put back.", `{` + two + `"abort":true,"currentStepIndex":0}`, false, ""},
		"NothingToPromote":   {"One version runs.", `{"currentPodHash":"a","stableRS":"a","currentStepIndex":4}`, false, ""},
		"NothingYet":         {"The first version of all.", `{"currentPodHash":"a"}`, false, ""},
		"NoStatus":           {"No controller.", `{}`, false, ""},
		"Full":               {"A full promotion skips the remaining steps.", `{` + two + `"controllerPause":true,"pauseConditions":[{}]}`, true, `{"promoteFull":true}`},
		"FullAndNothingLeft": {"One version runs.", `{"currentPodHash":"a","stableRS":"a"}`, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := withStatus(t, tc.status)
			before := u.DeepCopy()
			got := live.PromotePatch(u, tc.full)
			assert.Equal(t, before, u)
			if tc.want == "" {
				assert.Nil(t, got, tc.reason)
				return
			}
			assert.JSONEq(t, `{"metadata":{"resourceVersion":"77"},"status":`+tc.want+`}`, string(got), tc.reason)
		})
	}
	assert.Nil(t, live.PromotePatch(nil, false))
	assert.Nil(t, live.PromotePatch(new(unstructured.Unstructured), true))
}

// The usual tool asks Phase, patches and asks again: each time one step more
// would be skipped, and all of them together when the field is cleared.
//
//req:shows R3
func TestPromotePatch_NotIfSpecIsPaused(t *testing.T) {
	u := withStatus(t, `{"currentPodHash":"b","stableRS":"a","currentStepIndex":0,"observedGeneration":"2"}`)
	require.NotNil(t, live.PromotePatch(u, false))
	require.NoError(t, unstructured.SetNestedField(u.Object, true, "spec", "paused"))
	assert.Nil(t, live.PromotePatch(u, false))
	assert.Nil(t, live.PromotePatch(u, true))
}

func TestPromotePatch_BlueGreenAndNoSteps(t *testing.T) {
	u := object(t, `{"kind":"Rollout","spec":{"strategy":{"blueGreen":{}}},"status":{"currentPodHash":"b","stableRS":"a","pauseConditions":[{}],"controllerPause":true}}`)
	assert.JSONEq(t, `{"status":{"pauseConditions":null}}`, string(live.PromotePatch(u, false)), "not pinned without a resourceVersion")
	unstructured.RemoveNestedField(u.Object, "status", "pauseConditions")
	unstructured.RemoveNestedField(u.Object, "status", "controllerPause")
	assert.Nil(t, live.PromotePatch(u, false), "it has no step to skip")
}

func TestAbortPatch(t *testing.T) {
	assert.JSONEq(t, `{"status":{"abort":true}}`, string(live.AbortPatch()))
}

// FuzzLive: a cluster may hold anything.
func FuzzLive(f *testing.F) {
	for _, status := range []string{`{}`, `{"observedGeneration":"2","phase":"Paused"}`, `{"currentPodHash":"b","stableRS":"a","currentStepIndex":1.5}`, `[]`} {
		data, err := withStatus(f, status).MarshalJSON()
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"metadata":{"name":"x"},"data":{"stepPlugins":"[{name: a/b}]"},"spec":{"selector":{"app":"web"},"workloadRef":{"kind":"Deployment","name":"x"},
		"metrics":[{"interval":"1s","count":0}],"templates":[{"templateName":"x"},{"templateName":"y","clusterScope":true}],
		"strategy":{"canary":{"stableService":"x","canaryService":"y","steps":[{"analysis":{"templates":[{"templateName":"x"}]}},{"plugin":{"name":"a/c"}}]}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m map[string]any
		if json.Unmarshal(data, &m) != nil {
			return
		}
		u := &unstructured.Unstructured{Object: m}
		live.PhaseOf(u)
		for _, full := range []bool{true, false} {
			if patch := live.PromotePatch(u, full); patch != nil {
				assert.True(t, json.Valid(patch))
			}
		}
		var r rollout.Rollout
		if json.Unmarshal(data, &r) == nil { // and it may refer to anything
			r.Namespace = "shop"
			live.References(t.Context(), &r, func(context.Context, schema.GroupVersionResource, string, string) (*unstructured.Unstructured, error) {
				return u, nil
			}, "")
		}
	})
}
