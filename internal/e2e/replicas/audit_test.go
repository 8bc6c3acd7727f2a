// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/status"
)

// auditPolicy logs the requests of the replicas and of the kubelet, and what
// the replicas write into the status of runs.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: None
    users: [controlplane-admin, "system:kube-controller-manager", "system:apiserver"]
  - level: Request
    verbs: [patch]
    resources: [{group: agents.controllerkit.dev, resources: [agentruns/status]}]
  - level: Metadata
`

// recordsEnd reports whether the request recorded the end of a run.
func recordsEnd(t *testing.T, r controlplane.Request) bool {
	t.Helper()
	if r.For.Resource != "agentruns" || r.For.Subresource != "status" || !r.Done() {
		return false
	}
	var run struct {
		Status struct{ Phase v1alpha1.Phase }
	}
	require.NoError(t, json.Unmarshal(r.Body, &run))
	return run.Status.Phase.Progress() == status.Done
}

// requests returns the requests in a namespace so far, in the order of their
// answers.
func requests(t *testing.T, namespace string) []controlplane.Request {
	t.Helper()
	all, err := plane.Requests()
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(r controlplane.Request) bool { return r.For.Namespace != namespace })
}

// unanswered counts the writes of a replica that the API server did not answer
// in time. It may have stored them.
func (r *replica) unanswered(t *testing.T, namespace string) (n int) {
	t.Helper()
	for _, q := range requests(t, namespace) {
		if q.User.Username == r.user && q.Writes() && q.Response.Code >= 500 {
			n++
		}
	}
	return n
}

// assertOnce checks that each run has ended as its Job did, had one Job and one
// pod, and that its end was recorded once. It returns the users that recorded
// the ends, by the name of the run. The end of a run is missing there if its
// writer was killed before the answer.
func assertOnce(t *testing.T, namespace string, runs []v1alpha1.AgentRun) (endedBy map[string]string) {
	t.Helper()
	created, pods, endedBy := map[string]int{}, map[string]int{}, map[string]string{}
	for _, r := range requests(t, namespace) {
		switch {
		case r.Verb == "create" && r.For.Resource == "jobs" && r.Done():
			created[r.For.Name]++
		case r.For.Subresource == "binding" && r.Done():
			pods[r.For.Name[:strings.LastIndex(r.For.Name, "-")]]++ // the name of its Job and a suffix
		case recordsEnd(t, r):
			assert.Empty(t, endedBy[r.For.Name], "the end of %s was recorded again by %s", r.For.Name, r.User.Username)
			endedBy[r.For.Name] = r.User.Username
		}
	}
	for i := range runs {
		run := &runs[i]
		job := "run-" + string(run.UID)
		assert.Equal(t, outcome(run), run.Status.Phase, "%s: %s %s", run.Name, run.Status.Reason, run.Status.Message)
		assert.LessOrEqual(t, created[job], 1, "%s: its Job was created more than once", run.Name) // 0 if the creator was killed before the answer
		assert.Equal(t, 1, pods[job], "%s: pods", run.Name)
	}
	assert.Len(t, pods, len(runs), "Jobs that ran")
	return endedBy
}
