// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout/plan"
)

func TestPlan_Header(t *testing.T) {
	p, errs := plan.Migration(running(), converted(t), nil, plan.Options{Method: plan.Adopt, Context: "prod's", FieldManager: "deployer"})
	require.Empty(t, errs)
	for _, want := range []string{"Deployment shop/web, uid u, generation 4", "the kubectl context prod's", "method Adopt", "To go back, after the last step: make a plan by plan.Rollback"} {
		assert.Contains(t, p.Header, want)
	}
	assert.NotContains(t, p.Header, "Read at")
	assert.NotContains(t, p.Header, "up to step", "between the two workloads of Adopt there is none")
	for _, a := range p.Actions {
		for line := range strings.Lines(a.Command) {
			if strings.Contains(line, "kubectl ") && !strings.Contains(line, "stop '") {
				assert.Contains(t, line, `kubectl --context='prod'\''s' -n shop `)
			}
		}
	}
	assert.Contains(t, p.Actions[index(p, "apply --server-side")].Command, "--field-manager='deployer'")
}

// TestPlan_PrintsItsSteps: a stop shows at which one.
func TestPlan_PrintsItsSteps(t *testing.T) {
	for _, j := range journeys(t) {
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			out, err := c.try(j.plan.String())
			require.NoError(t, err)
			n := strconv.Itoa(len(j.plan.Actions))
			for i, a := range j.plan.Actions {
				assert.Contains(t, out, strconv.Itoa(i+1)+"/"+n+" "+a.Do+"\n")
			}
			assert.True(t, strings.HasSuffix(out, "\nDone\n"), out)

			c.set(world{})
			out, err = c.try(j.plan.String())
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(out, "1/"+n+" "), out)
			assert.NotContains(t, out, "2/"+n)
			assert.NotContains(t, out, "Done")
		})
	}
}

// TestPlan_HeaderUndoesThePlan: up to the step that it names, the commands of
// the header lead back to the cluster of before.
//
//req:shows R5
func TestPlan_HeaderUndoesThePlan(t *testing.T) {
	for _, j := range journeys(t) {
		_, rest, found := strings.Cut(j.plan.Header, "To go back, up to step ")
		if assert.Equal(t, !strings.HasPrefix(j.name, "Adopt"), found, j.name); !found {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			number, undo, _ := strings.Cut(rest, ": ")
			undo, _, _ = strings.Cut(undo, "\n")
			n, err := strconv.Atoi(number)
			require.NoError(t, err)
			require.Less(t, n, len(j.plan.Actions))
			c := newCluster(t, j.from)
			before := workloads(c.world())
			for _, a := range j.plan.Actions[:n] {
				c.run(a.Command)
			}
			c.run(undo)
			after := workloads(c.world())
			if strings.HasPrefix(j.name, "Reference") && j.source() == "rollout/web" {
				delete(before, "rollout/web") // scaleDown is never now, which does no harm
				delete(after, "rollout/web")
			}
			assert.Equal(t, before, after)
			assert.Equal(t, 5, c.world().Least)
		})
	}
}
