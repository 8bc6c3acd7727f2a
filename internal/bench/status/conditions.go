// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	fluxconditions "github.com/fluxcd/pkg/runtime/conditions"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	capiconditions "sigs.k8s.io/cluster-api/util/conditions"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/status"
)

// setter sets one condition of a Run.
type setter struct {
	name string
	set  func(r *Run, c metav1.Condition)
}

var setters = []setter{
	{"apimachinery", func(r *Run, c metav1.Condition) { apimeta.SetStatusCondition(&r.Status.Conditions, c) }},
	// MarkTrue is how flux's controllers set a condition. The message goes in
	// as an argument, as theirs do.
	{"flux", func(r *Run, c metav1.Condition) {
		if c.Status == metav1.ConditionTrue {
			fluxconditions.MarkTrue(r, c.Type, c.Reason, "%s", c.Message)
		} else {
			fluxconditions.MarkFalse(r, c.Type, c.Reason, "%s", c.Message)
		}
	}},
	{"cluster-api", func(r *Run, c metav1.Condition) { capiconditions.Set(r, c) }},
}

func ourSetter(r *Run, c metav1.Condition) { status.SetCondition(&r.Status.Conditions, c, noon.Time) }

// setSame sets a condition to what it is: what most reconciles do.
func setSame() bench.Measure {
	m := bench.Measure{
		Name:  "set a condition, same",
		Ours:  setting(setter{set: ourSetter}),
		Gates: []bench.Gate{{Unit: bench.Allocs, Limit: "= 0"}},
	}
	for _, s := range setters {
		m.Peers = append(m.Peers, setting(s))
	}
	return m
}

// setting sets the last of five conditions to what it is, again and again.
func setting(s setter) bench.Subject {
	r := bigRun()
	c := r.Status.Conditions[4]
	return bench.Subject{Name: s.name, Do: func(n int) error {
		for range n {
			s.set(r, c)
		}
		return nil
	}}
}

// observe applies the contract to a stamp. The peers do not have it.
func observe(name string, f status.Facts, stamp status.Stamp, gate string) bench.Measure {
	return bench.Measure{
		Name: "Stamp.Observe, " + name,
		Ours: bench.Subject{Do: bench.Each(func() error {
			s := stamp
			_, err := s.Observe(f, 3, noon.Time)
			return err
		})},
		Gates: []bench.Gate{{Unit: bench.Allocs, Limit: gate}},
	}
}
