// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// group has the rights of the controller in the tests' namespaces. Each replica
// is a separate user, so that the audit log tells them apart.
const group = "replicas"

// replica is a process and its user.
type replica struct {
	*rig.Process

	user string
}

// newStage creates a namespace in which replicas may work and elect leaders.
func newStage(t *testing.T, more ...string) *play.Stage {
	t.Helper()
	stage := plane.NewStage(t, more...)
	for _, args := range [][]string{
		{"role", "leaders", "--verb=create,get,update", "--resource=leases.coordination.k8s.io"},
		{"rolebinding", "leaders", "--group=" + group, "--role=leaders"},
		{"rolebinding", "controllers", "--group=" + group, "--clusterrole=agentrun-controller"},
	} {
		_, err := plane.Admin.Run(t.Context(), nil, append([]string{"--namespace=" + stage.Namespace, "create"}, args...)...)
		require.NoError(t, err)
	}
	return stage
}

// start runs a replica in the stage's namespace until the test ends. It returns
// when the replica is ready. A replica that waits for a lease is ready, too.
func start(t *testing.T, stage *play.Stage, name string, args ...string) *replica {
	t.Helper()
	r := &replica{user: stage.Namespace + "-" + name}
	config, err := plane.User(r.user, group)
	require.NoError(t, err)
	r.Process = plane.Start(t, stage, suite.Controller{
		Name: name, User: config, Env: []string{"POD_NAME=" + name},
		Args: append([]string{"--leader-elect-lease-namespace=" + stage.Namespace}, args...),
	})
	return r
}

func (r *replica) leads(ctx context.Context) bool {
	n, _ := r.Value(ctx, "controller_leader", nil)
	return n == 1
}

// create retries until the run exists.
func create(t *testing.T, stage *play.Stage, run *v1alpha1.AgentRun) {
	t.Helper()
	_, err := suite.Create(t.Context(), stage, run)
	assert.NoError(t, err)
}

// assertOnce checks that each run has ended as its Job did, had one Job and one
// pod, and that its end was recorded once. It returns the users that recorded
// the ends, by the name of the run. The end of a run is missing there if its
// writer was killed before the answer.
func assertOnce(t *testing.T, stage *play.Stage, runs []v1alpha1.AgentRun) (endedBy map[string]string) {
	t.Helper()
	endedBy = map[string]string{}
	for _, r := range plane.Requests(t, func(r controlplane.Request) bool {
		return r.For.Namespace == stage.Namespace && r.Kind() == "patch agentruns/status" && r.Done()
	}) {
		var run v1alpha1.AgentRun
		require.NoError(t, json.Unmarshal(r.Body, &run))
		if suite.Ended(&run) {
			assert.Empty(t, endedBy[r.For.Name], "the end of %s was recorded again by %s", r.For.Name, r.User.Username)
			endedBy[r.For.Name] = r.User.Username
		}
	}
	created, pods := plane.Jobs(t, stage.Namespace)
	for i := range runs {
		job := "run-" + string(runs[i].UID)
		suite.AssertLoad(t, &runs[i])
		assert.LessOrEqual(t, created[job], 1, "%s: its Job was created more than once", runs[i].Name) // 0 if the creator was killed before the answer
		assert.Equal(t, 1, pods[job], "%s: pods", runs[i].Name)
	}
	assert.Len(t, pods, len(runs), "Jobs that ran")
	return endedBy
}
