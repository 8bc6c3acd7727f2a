// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/status"
)

// setSame sets the last of five conditions to what it is, as most reconciles
// do.
func setSame() bench.Measure {
	r := bigRun()
	all := &r.Status.Conditions
	same := (*all)[4]
	return bench.Measure{
		Name: "set a condition, same",
		Ours: bench.Subject{Do: bench.Each(func() error {
			status.SetCondition(all, same, noon.Time)
			return nil
		})},
		Peers: []bench.Subject{{Name: "apimachinery", Do: bench.Each(func() error {
			apimeta.SetStatusCondition(all, same)
			return nil
		})}},
		Gates: []bench.Gate{{Unit: bench.Nanos, Peer: "apimachinery", Limit: usual}},
	}
}
