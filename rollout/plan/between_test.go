// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestPlan_DoesNotGoOnWithTheWorkloadOfAnotherPlan: the first one was
// interrupted, and a variable was released since. The second would throw the
// release away, and so would the first.
//
//req:shows R5
func TestPlan_DoesNotGoOnWithTheWorkloadOfAnotherPlan(t *testing.T) {
	released := []corev1.EnvVar{{Name: "A", Value: "2"}}
	eachJourney(t, func(c *cluster, j journey) {
		for n := 4; n < len(j.plan.Steps); n++ {
			c.set(j.from)
			c.run(j.until(n))
			w := c.world()
			setVariable(w.Objects[j.old], "2")
			c.set(w)
			out, err := c.try(j.plan.String())
			require.Error(c, err, "the same plan after step %d: %s", n, out)

			d := manifest()
			d.Spec.Template.Spec.Containers[0].Env = released
			var second plan.Plan
			others := []unstructured.Unstructured{}
			if j.scaled() {
				others = append(others, unstructured.Unstructured{Object: w.Objects["hpa/web"]})
			}
			from := &unstructured.Unstructured{Object: c.world().Objects[j.old]}
			if j.old == "deployment/web" {
				to, errs := rollout.Convert(d, rollout.Options{})
				require.Empty(c, errs)
				second, errs = plan.Migration(from, to, others, plan.Options{})
				require.Empty(c, errs)
			} else {
				var errs field.ErrorList
				second, errs = plan.Rollback(from, d, others, plan.Options{})
				require.Empty(c, errs)
			}
			out, err = c.try(second.String())
			require.Error(c, err, "a new plan after step %d: %s", n, out)
			assert.Contains(c, out, "STOP: "+j.new+" is not as planned. Another plan or a person has made it.")
			assert.Contains(c, c.world().Objects, j.old)
		}
	})
}
