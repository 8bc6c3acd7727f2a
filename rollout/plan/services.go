// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
)

// strategy is the part of a Rollout's strategy that names the Services which
// its controller takes over.
type strategy struct {
	Canary struct {
		CanaryService string `json:"canaryService"`
		StableService string `json:"stableService"`
		PingPong      struct {
			Ping string `json:"pingService"`
			Pong string `json:"pongService"`
		} `json:"pingPong"`
	} `json:"canary"`
	BlueGreen struct {
		Active  string `json:"activeService"`
		Preview string `json:"previewService"`
	} `json:"blueGreen"`
}

// noServices refuses a strategy, found at path, that refers to a Service; why
// has a verb for its name.
func (b *builder) noServices(s *strategy, path *field.Path, why string) {
	canary, blueGreen := path.Child("canary"), path.Child("blueGreen")
	for _, service := range []struct {
		path *field.Path
		name string
	}{
		{canary.Child("canaryService"), s.Canary.CanaryService},
		{canary.Child("stableService"), s.Canary.StableService},
		{canary.Child("pingPong", "pingService"), s.Canary.PingPong.Ping},
		{canary.Child("pingPong", "pongService"), s.Canary.PingPong.Pong},
		{blueGreen.Child("activeService"), s.BlueGreen.Active},
		{blueGreen.Child("previewService"), s.BlueGreen.Preview},
	} {
		if service.name != "" {
			b.add(field.Forbidden(service.path, fmt.Sprintf(why, service.name)))
		}
	}
}

// noServicesYet: a Service that the Rollout refers to would select the hash of
// pods that are not there yet.
func (b *builder) noServicesYet(to *rollout.Strategy) {
	path := field.NewPath("spec", "strategy")
	var s strategy
	data, err := json.Marshal(to)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		b.add(field.TypeInvalid(path, field.OmitValueType{}, err.Error()))
		return
	}
	b.noServices(&s, path, "the controller would point the Service %s at pods that are not there yet; switch to a canary that refers to no Service, "+
		"and set it once the Rollout is healthy")
}

// noServicesAnyMore refuses a Rollout that refers to a Service: it selects the
// hash of the Rollout's pods, which the Deployment's pods do not have. The
// controller removes the hash once the Rollout does not refer to the Service.
func (b *builder) noServicesAnyMore(from *liveRollout) {
	b.noServices(&from.Spec.Strategy, field.NewPath("live", "spec", "strategy"), "the controller keeps the Service %s to the pods of the Rollout; "+
		"make it a canary that refers to no Service, wait until the selector of the Service has no rollouts-pod-template-hash, then make a new plan")
}
