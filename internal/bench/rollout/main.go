// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rollout measures package rollout. It has no peer: Argo Rollouts
// converts nothing, and its types need an old client-go.
package main

import (
	_ "embed"
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/rollout"
)

//go:embed deployment.yaml
var manifest []byte

func main() {
	bench.Main(bench.Group{Package: "rollout", Measures: measures})
}

// measures is what a program does with one Deployment on every reconcile.
func measures(*testing.T) ([]bench.Measure, error) {
	d := new(appsv1.Deployment)
	err := yaml.UnmarshalStrict(manifest, d)
	return []bench.Measure{{
		Name: "Deployment to the JSON of a Rollout, checked",
		Ours: bench.Subject{Do: bench.Each(func() error {
			r, errs := rollout.Convert(d, rollout.Options{})
			if len(errs) > 0 {
				return errs.ToAggregate()
			}
			_, err := json.Marshal(r)
			return err
		})},
		Gates: []bench.Gate{{Unit: bench.Nanos, Limit: "<= 50000"}},
	}}, err
}
