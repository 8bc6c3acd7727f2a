// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

// withStatus is a Rollout of generation 2 with this status.
func withStatus(tb testing.TB, status string) *rollout.Rollout {
	tb.Helper()
	return read(tb, `{"metadata":{"name":"web","generation":2,"resourceVersion":"77"},
		"spec":{"strategy":{"canary":{"steps":[{"setWeight":20},{"pause":{}},{"setWeight":50},{"pause":{}}]}}},"status":`+status+`}`)
}

func read(tb testing.TB, text string) *rollout.Rollout {
	tb.Helper()
	r := new(rollout.Rollout)
	require.NoError(tb, yaml.Unmarshal([]byte(text), r))
	return r
}

// refusedReplicaSet is the status after the API server has refused the
// ReplicaSet of a new template, as the controller of v1.10 writes it: the
// generation is observed, and the rest is of the version before.
func refusedReplicaSet(phase string) string {
	return `{"availableReplicas":5,"canary":{},"conditions":[
		{"type":"Paused","status":"False","reason":"RolloutPaused","message":"Rollout is paused"},
		{"type":"Available","status":"True","reason":"AvailableReason","message":"Rollout has minimum availability"},
		{"type":"Completed","status":"True","reason":"RolloutCompleted","message":"RolloutCompleted"},
		{"type":"Healthy","status":"True","reason":"RolloutHealthy","message":"Rollout is healthy"},
		{"type":"Progressing","status":"False","reason":"ReplicaSetCreateError",
			"message":"Failed to create new replica set \"web-6c\": replicasets.apps \"web-6c\" is forbidden: no such image"}],
		"currentPodHash":"5d","currentStepIndex":4,"observedGeneration":"2","phase":"` + phase + `","replicas":5,"stableRS":"5d","updatedReplicas":5}`
}

// conditions is a status of v1.10.
func conditions(phase, progressing, healthy string) string {
	return `{"conditions":[
		{"type":"Progressing","status":"True","reason":"` + progressing + `","message":"ReplicaSet \"web-6c\""},
		{"type":"Healthy","status":"` + healthy + `","reason":"RolloutHealthy","message":"Rollout is not healthy"}],
		"currentPodHash":"5d","observedGeneration":"2","phase":"` + phase + `","stableRS":"5d"}`
}

//req:shows R5
func TestPhaseOf(t *testing.T) {
	const failure = `"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"exceeded quota"}]`
	cases := map[string]struct {
		reason  string
		status  string
		want    rollout.Phase
		message string
	}{
		"NoController":      {"A Rollout without a controller has an empty status.", `{}`, rollout.NotObserved, "no controller"},
		"OldGeneration":     {"Healthy is what it was.", `{"observedGeneration":"1","phase":"Healthy"}`, rollout.NotObserved, "generation 1 of 2"},
		"NewerGeneration":   {"A restored object: nothing is known of this one.", `{"observedGeneration":"9","phase":"Healthy"}`, rollout.NotObserved, "generation 9 of 2"},
		"ObservedAsAHash":   {"As releases before 0.10 wrote it.", `{"observedGeneration":"7d9f","phase":"Healthy"}`, rollout.NotObserved, "7d9f"},
		"Healthy":           {"All pods are of this version.", `{"observedGeneration":"2","phase":"Healthy"}`, rollout.Healthy, ""},
		"Paused":            {"A pause has its reason.", `{"observedGeneration":"2","phase":"Paused","message":"CanaryPauseStep"}`, rollout.Paused, "CanaryPauseStep"},
		"Degraded":          {"A degraded one has its reason.", `{"observedGeneration":"2","phase":"Degraded","message":"ProgressDeadlineExceeded: x"}`, rollout.Degraded, "ProgressDeadlineExceeded"},
		"Progressing":       {"A progress has its reason.", `{"observedGeneration":"2","phase":"Progressing","message":"more replicas need to be updated"}`, rollout.Progressing, "more replicas"},
		"NoPods":            {"The reason is not hidden.", `{"observedGeneration":"2","phase":"Progressing","message":"more replicas",` + failure + `}`, rollout.Progressing, "more replicas; FailedCreate: exceeded quota"},
		"NoPodsAtAPause":    {"Nor at a pause.", `{"observedGeneration":"2","phase":"Paused","message":"CanaryPauseStep",` + failure + `}`, rollout.Paused, "CanaryPauseStep; FailedCreate: exceeded quota"},
		"NoPodsInTime":      {"Why the ReplicaSet has no pods is in the message.", `{"observedGeneration":"2","phase":"Degraded",` + failure + `}`, rollout.Degraded, "FailedCreate: exceeded quota"},
		"Invalid":           {"Upstream calls it Degraded.", `{"observedGeneration":"2","phase":"Degraded","conditions":[{"type":"InvalidSpec","status":"True","message":"no"}]}`, rollout.Invalid, "no"},
		"NoLongerInvalid":   {"The condition is False.", `{"observedGeneration":"2","phase":"Healthy","conditions":[{"type":"InvalidSpec","status":"False"}]}`, rollout.Healthy, ""},
		"Unpausing":         {"Promoted, and the controller has yet to act.", `{"observedGeneration":"2","phase":"Paused","controllerPause":true}`, rollout.Progressing, "promoted"},
		"Refused":           {"No pod has this version: its ReplicaSet was refused.", refusedReplicaSet("Healthy"), rollout.Degraded, "ReplicaSetCreateError: Failed to create new replica set"},
		"RefusedAtAPause":   {"The pause is of the version before.", refusedReplicaSet("Paused"), rollout.Degraded, "ReplicaSetCreateError"},
		"RefusedAtFirst":    {"It makes no progress, past every deadline.", refusedReplicaSet("Progressing"), rollout.Degraded, "ReplicaSetCreateError"},
		"RefusedPromoted":   {"The controller does nothing before it has the ReplicaSet.", strings.Replace(refusedReplicaSet("Paused"), "{", `{"controllerPause":true,`, 1), rollout.Degraded, "ReplicaSetCreateError"},
		"NotProgressing":    {"The reason does not count.", `{"observedGeneration":"2","phase":"Healthy","conditions":[{"type":"Progressing","status":"False","reason":"Dreaming","message":"no"}]}`, rollout.Degraded, "Dreaming: no"},
		"NoReason":          {"The type of the condition remains.", `{"observedGeneration":"2","phase":"Healthy","conditions":[{"type":"Progressing","status":"False"}]}`, rollout.Degraded, "Progressing is False"},
		"RefusedAndInvalid": {"The spec comes first.", `{"observedGeneration":"2","conditions":[{"type":"Progressing","status":"False"},{"type":"InvalidSpec","status":"True","message":"no"}]}`, rollout.Invalid, "no"},
		"RefusedBefore":     {"Another generation is not judged by it.", strings.Replace(refusedReplicaSet("Healthy"), `"2"`, `"1"`, 1), rollout.NotObserved, "generation 1 of 2"},
		"JustCreated":       {"The ReplicaSet was refused, and now is there. The rest is of the version before.", conditions("Healthy", "NewReplicaSetCreated", "True"), rollout.Progressing, "web-6c"},
		"CreatedAtAPause":   {"The pause is of the version before.", conditions("Paused", "NewReplicaSetCreated", "False"), rollout.Progressing, "web-6c"},
		"FewerReplicas":     {"Scaled first; the template comes next.", conditions("Healthy", "ReplicaSetNotAvailable", "False"), rollout.Progressing, "web-6c"},
		"NotYetReplaced":    {"The condition Healthy alone does not say it.", conditions("Healthy", "ReplicaSetUpdated", "True"), rollout.Progressing, "web-6c"},
		"Resumed":           {"Only spec.paused was looked at.", conditions("Healthy", "NewReplicaSetAvailable", "False"), rollout.Progressing, "is not healthy"},
		"OldPodsStay":       {"Without trafficRouting there is no delay.", conditions("Healthy", "ReplicaSetUpdated", "False"), rollout.Progressing, "web-6c"},
		"HealthyInAll":      {"As the controller writes it in the end.", conditions("Healthy", "NewReplicaSetAvailable", "True"), rollout.Healthy, ""},
		"PausedInAll":       {"As the controller writes it at a step.", conditions("Paused", "RolloutPaused", "False"), rollout.Paused, ""},
		"PausedByTheSpec":   {"All pods are of one version.", conditions("Paused", "NewReplicaSetAvailable", "False"), rollout.Paused, ""},
		"UnknownPhase":      {"Of a newer release.", `{"observedGeneration":"2","phase":"Dreaming"}`, rollout.Progressing, "Dreaming"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			phase, message := rollout.PhaseOf(withStatus(t, tc.status), 0)
			assert.Equal(t, tc.want, phase, tc.reason)
			assert.Contains(t, message, tc.message, tc.reason)
		})
	}
	phase, _ := rollout.PhaseOf(nil, 0)
	assert.Equal(t, rollout.NotObserved, phase)
}

// TestPhaseOf_WhileOldPodsStay: with trafficRouting they do for
// scaleDownDelaySeconds, and all users have the new version.
func TestPhaseOf_WhileOldPodsStay(t *testing.T) {
	r := withStatus(t, conditions("Healthy", "ReplicaSetUpdated", "False"))
	r.Spec.Strategy.Canary.TrafficRouting = map[string]any{"nginx": map[string]any{}}
	phase, message := rollout.PhaseOf(r, 0)
	assert.Equal(t, rollout.Healthy, phase)
	assert.Contains(t, message, "scaleDownDelaySeconds")
	r.Status.Conditions[0].Reason = "ReplicaSetNotAvailable"
	phase, _ = rollout.PhaseOf(r, 0)
	assert.Equal(t, rollout.Progressing, phase, "the new pods are not available")
	r.Status.Conditions[0].Reason = "ReplicaSetUpdated"
	r.Status.StableRS = "other"
	phase, _ = rollout.PhaseOf(r, 0)
	assert.Equal(t, rollout.Progressing, phase)
	r.Spec.Strategy.Canary = nil
	phase, _ = rollout.PhaseOf(r, 0)
	assert.Equal(t, rollout.Progressing, phase, "of blue-green")
}

// TestPhaseOf_WithAWorkloadRef: the template changes in the other object, and
// the controller copies the generation into an annotation only when it sees it.
func TestPhaseOf_WithAWorkloadRef(t *testing.T) {
	r := withStatus(t, `{"observedGeneration":"2","phase":"Healthy","workloadObservedGeneration":"4"}`)
	r.Annotations = map[string]string{"rollout.argoproj.io/workload-generation": "4"}
	r.Spec.WorkloadRef = map[string]any{"kind": "Deployment", "name": "web"}
	for generation, want := range map[int64]rollout.Phase{4: rollout.Healthy, 5: rollout.NotObserved, 0: rollout.NotObserved} {
		phase, message := rollout.PhaseOf(r, generation)
		assert.Equal(t, want, phase, message)
		if want == rollout.NotObserved {
			assert.Contains(t, message, "Deployment web")
		}
	}
}

// TestPhaseOf_OfPublicStatuses: what people have shown in issues of Argo
// Rollouts, and what Argo CD tests its health check with.
func TestPhaseOf_OfPublicStatuses(t *testing.T) {
	data, err := os.ReadFile("testdata/statuses.yaml")
	require.NoError(t, err)
	var cases map[string]struct {
		Reason   string
		Rollout  *rollout.Rollout
		Workload int64
		Phase    rollout.Phase
		Message  string
	}
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			phase, message := rollout.PhaseOf(tc.Rollout, tc.Workload)
			assert.Equal(t, tc.Phase, phase, tc.Reason)
			assert.Contains(t, message, tc.Message, tc.Reason)
		})
	}
}
