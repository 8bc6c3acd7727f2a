// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// TestUninstall_DeletesThePods: with the CRD the server deletes the Rollouts,
// and the garbage collector their pods. A workload that went back to a
// Deployment before is not affected. It runs after all others, because none of
// them could go on.
//
//req:shows R5
func TestUninstall_DeletesThePods(t *testing.T) {
	left := newStage(t)
	back := newNamespace(t, "taken-back-before")
	r := converted(t, "web:1", rollout.Options{})
	left.apply(r)
	back.apply(r)
	left.reaches("web", live.Healthy)
	back.reaches("web", live.Healthy)
	back.back(web("web:1"))
	back.runs(map[string]int{"web:1": 5})
	c := back.measure(5)

	left.sh("kubectl delete crd " + live.GVR().GroupResource().String())
	left.runs(map[string]int{})
	require.Equal(t, map[string]int{"web:1": 5}, back.images())
	least, most := back.extremes(c)
	assert.Equal(t, [2]int{5, 5}, [2]int{least, most}, "least and most ready endpoints")
}
